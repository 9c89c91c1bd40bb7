(** The theorems, about the bytes of a policy text and of a program. *)
From Coq Require Import NArith List Bool Lia.
From Callgate Require Import Spec Text Know View Decide Ask Clauses Merge Check.
Import ListNotations.
Open Scope N_scope.

(** The checker tries a call that it believes to distinguish policy and program; so its answer is right for no deeper reason. *)
Inductive reason := Budget | Complexity | NoCall.
Inductive answer :=
| Accepted
| Refused (o : order) (bytes variables : list N) (returned : option N) (demanded : N)
| Undecided (why : reason)
| WrongText (line : N)
| WrongProgram.

Definition distinguishes (o : order) (p : policy) (program : list N) (call : list N * list N) : option answer :=
  let '(bytes, vars) := call in
  let returned := kernel_run o program bytes in let demanded := verdict (input o bytes vars) p in
  if Nat.eqb (length bytes) 64 && forallb (fun b => b <? 256) bytes &&
     match returned with Some v => negb (v =? demanded) | None => true end
  then Some (Refused o bytes vars returned demanded) else None.
Fixpoint first_answer (l : list (option answer)) : answer :=
  match l with [] => Undecided NoCall | Some a :: _ => a | None :: l => first_answer l end.

(** * Calls that may distinguish: nothing to prove *)

Definition four_bytes (o : order) (n : N) : list N :=
  let little := [n mod 256; n / 256 mod 256; n / 65536 mod 256; n / 16777216 mod 256] in
  match o with Little => little | Big => rev little end.
Fixpoint pairs (l : list N) : list N := match l with a :: b :: l => a + W * b :: pairs l | _ => [] end.
Definition call_of (o : order) (values : list N) : list N * list N :=
  (flat_map (four_bytes o) (firstn 16 values), pairs (skipn 16 values)).
Fixpoint put (l : list N) (i : nat) (v : N) : list N :=
  match l, i with [], _ => [] | _ :: l, O => v mod W :: l | x :: l, S i => x :: put l i v end.
Fixpoint first_word (e : sexp) : option nat :=
  match e with C _ => None | Wd i => Some i | B _ _ a b => match first_word a with None => first_word b | i => i end end.
(** Changes one word so that a fact about two values holds, if that is easy. *)
Definition repair (f : tst * bool) (values : list N) : list N :=
  let '((r, a, b) as t, v) := f in
  let at_ l := fun i => nth i l 0 in
  let x := ev (at_ values) a in let y := ev (at_ values) b in
  let change e n := match first_word e with Some i => put values i n | None => values end in
  match find (fun l => Bool.eqb (holds (at_ l) t) v)
    [values; change b x; change a y; change b (x + 1); change a (y + 1); change b 0; change a 0; change a ones; change b ones] with
  | Some l => l
  | None => values
  end.
Definition calls_with (o : order) (K : know) : list (list N * list N) :=
  let values := map (fun k => match least_value k with Some (v, _) => v | None => mn k end) (words K) in
  let repaired := fold_left (fun l f => repair f l) (rev_append (facts K) []) values in
  map (call_of o) [values; repaired; fold_left (fun l f => repair f l) (facts K) repaired].
Definition calls (o : order) (d : difference) : list (list N * list N) :=
  let '(K, hints) := d in
  flat_map (fun h => calls_with o h ++ calls_with o (Knowing (mixed (words K) (words h)) (facts K))) hints ++ calls_with o K.

(** * The checker *)

(** Ways to search, one after the other, with their steps. Few programs need more than the first. *)
Definition ways : list (option way * N) :=
  [(None, 16384); (Some Again, 16384); (Some Beside, 16384); (Some Once, 8192); (Some Follow, 16384); (Some Decide, 8192);
   (Some Keep, 4096); (None, 262144)].
Fixpoint first_refusal (refusal : difference -> answer) (l : list difference) : answer :=
  match l with
  | [] => Undecided NoCall
  | d :: l => match refusal d with Undecided _ => first_refusal refusal l | a => a end
  end.
Fixpoint search_all (ways : list (option way * N)) (start : option way -> place) (refusal : difference -> answer) (why : reason) : answer :=
  match ways with
  | [] => Undecided why
  | (how, steps) :: ways =>
    match find_out how steps (start how) with
    | Done => Accepted
    | Stopped (Differs d others) => match first_refusal refusal (d :: others) with Undecided why => search_all ways start refusal why | a => a end
    | Stopped TooComplex => search_all ways start refusal (match how with None => Complexity | _ => why end)
    | _ => search_all ways start refusal (match how with None => Budget | _ => why end)
    end
  end.
Definition check_bytes (text program : list N) : answer :=
  match parse text with
  | inr line => WrongText line
  | inl p =>
    match load (byte_order p) program with
    | None => WrongProgram
    | Some l =>
      search_all ways (begin (length (variables p)) (meaning p) l)
        (fun d => first_answer (map (distinguishes (byte_order p) (meaning p) program) (calls (byte_order p) d))) Budget
    end
  end.

(** * The theorems *)

Lemma number_bound o l : is_bytes l -> (length l <= 4)%nat -> number o l < W.
Proof.
  intros B L. unfold W. assert (forall l, is_bytes l -> (length l <= 4)%nat -> number Big l < 4294967296) as G.
  { clear. intros l B L. unfold number.
    destruct B as [|a ? A [|b ? B [|c ? C [|d ? D [|e ? E ?]]]]]; cbn [fold_left]; try lia. cbn [length] in L. lia. }
  destruct o; [|apply G; assumption].
  apply (G (rev l)); [apply Forall_rev, B|rewrite rev_length; exact L].
Qed.
Lemma Forall_sub {T} (P : T -> Prop) (l : list T) n k : Forall P l -> Forall P (firstn n (skipn k l)).
Proof.
  intro F. assert (Forall P (skipn k l)) as G.
  { rewrite <- (firstn_skipn k l) in F. apply Forall_app in F. apply F. }
  rewrite <- (firstn_skipn n (skipn k l)) in G. apply Forall_app in G. apply G.
Qed.
Lemma input_wf o bytes vars : is_bytes bytes -> wf (input o bytes vars).
Proof.
  intros B i. unfold input. destruct (Nat.ltb i 16).
  - apply number_bound; [apply Forall_sub, B|apply firstn_le_length].
  - cbn zeta. destruct (Nat.even i); apply N.mod_lt; discriminate.
Qed.

(** A program loads words of the call only, so it does not depend on the variables. *)
Definition loads_call (i : insn) : Prop := match i with LdAbs w => (w < 16)%nat | _ => True end.
Lemma decode_loads c jt jf k i : decode c jt jf k = Some i -> loads_call i.
Proof.
  unfold decode. intro H.
  repeat match type of H with
  | (match ?x with _ => _ end) = _ => destruct x eqn:?; try discriminate H
  | Some _ = Some _ => injection H as <-; try exact I
  end.
  apply andb_true_iff in Heqb. destruct Heqb as [A _]. apply N.ltb_lt in A. cbn [loads_call].
  pose proof (N.div_lt_upper_bound k 4 16). lia.
Qed.
Lemma decode_all_loads o program : forall p, decode_all o program = Some p -> Forall loads_call p.
Proof.
  revert program. fix IH 1. intros [|c0 [|c1 [|jt [|jf [|k0 [|k1 [|k2 [|k3 rest]]]]]]]] p; try discriminate;
    cbn [decode_all]; [intro E; injection E as <-; constructor|].
  destruct (decode _ _ _ _) as [i|] eqn:D; [|discriminate]. specialize (IH rest). destruct (decode_all o rest) as [q|]; [|discriminate].
  intro E; injection E as <-. constructor; [exact (decode_loads _ _ _ _ _ D)|exact (IH q eq_refl)].
Qed.
Lemma run_same n : forall p a x m d e, Forall loads_call p -> (forall i, (i < 16)%nat -> d i = e i) ->
  run n p a x m d = run n p a x m e.
Proof.
  induction n as [|n IH]; [reflexivity|]. intros [|i q] a x m d e F H; [reflexivity|].
  inversion_clear F as [|? ? Fi Fq].
  assert (forall k, Forall loads_call (skipn k q)) as Fs.
  { intro k. rewrite <- (firstn_skipn k q) in Fq. apply Forall_app in Fq. apply Fq. }
  destruct i as [w| | | | | | |[] s| | | | |r s jt jf| |]; cbn [run]; try reflexivity; try (apply IH; auto).
  - cbn [loads_call] in Fi. rewrite (H w Fi). apply IH; auto.
  - destruct (_ =? 0); [reflexivity|apply IH; auto].
Qed.

Lemma first_answer_sound o p program l a : first_answer (map (distinguishes o p program) l) = a ->
  a = Undecided NoCall \/ exists bytes vars returned demanded, a = Refused o bytes vars returned demanded /\
    is_bytes bytes /\ length bytes = 64%nat /\ kernel_run o program bytes = returned /\
    verdict (input o bytes vars) p = demanded /\ returned <> Some demanded.
Proof.
  induction l as [|[bytes vars] l IH]; cbn [map first_answer]; [auto|]. unfold distinguishes at 1.
  destruct (_ && _) eqn:F; [|exact IH]. intros <-. right. repeat eexists; try reflexivity.
  - apply andb_true_iff in F. destruct F as [F _]. apply andb_true_iff in F. destruct F as [_ B].
    apply Forall_forall. intros x I. rewrite forallb_forall in B. apply N.ltb_lt, B, I.
  - apply andb_true_iff in F. destruct F as [F _]. apply andb_true_iff in F. apply PeanoNat.Nat.eqb_eq, F.
  - intro E. rewrite E, N.eqb_refl, andb_false_r in F. discriminate.
Qed.

Lemma first_refusal_sound refusal l :
  (exists why, first_refusal refusal l = Undecided why) \/ exists d, refusal d = first_refusal refusal l.
Proof.
  induction l as [|d l IH]; cbn [first_refusal]; [left; eauto|]. destruct (refusal d) eqn:R; try exact IH; right; exists d; exact R.
Qed.
Lemma search_all_sound ways start refusal why a : search_all ways start refusal why = a ->
  (a = Accepted /\ exists how steps, find_out how steps (start how) = Done) \/ (exists why, a = Undecided why) \/
  exists d, refusal d = a.
Proof.
  revert why. induction ways as [|[how steps] ways IH]; intros why; cbn [search_all]; [intros <-; eauto|].
  destruct (find_out how steps (start how)) as [| |[d others| |]] eqn:D; try apply IH; [intros <-; eauto|].
  pose proof (first_refusal_sound refusal (d :: others)) as F.
  destruct (first_refusal refusal (d :: others)) eqn:R; try apply IH; intros <-; right; right;
    (destruct F as [[why' F]|F]; [discriminate|exact F]).
Qed.

(** An accepted program returns what the policy says, for every call and all values of the variables. *)
Theorem accepted text program : check_bytes text program = Accepted ->
  exists p, parse text = inl p /\
  forall bytes vars, is_bytes bytes -> length bytes = 64%nat ->
  kernel_run (byte_order p) program bytes = Some (verdict (input (byte_order p) bytes vars) (meaning p)).
Proof.
  unfold check_bytes. destruct (parse text) as [p|]; [|discriminate].
  destruct (load (byte_order p) program) as [l|] eqn:L; [|discriminate]. intro E.
  destruct (search_all_sound _ _ _ _ _ E) as [(_ & how & steps & A)|[[why X]|[d X]]]; [clear E|discriminate|
    destruct (first_answer_sound _ _ _ _ _ X) as [?|(? & ? & ? & ? & ? & _)]; discriminate].
  exists p. split; [reflexivity|]. intros bytes vars B _. unfold kernel_run. rewrite L.
  rewrite (run_same _ _ _ _ _ _ (input (byte_order p) bytes vars)).
  - apply (check_sound _ _ _ _ _ A). apply input_wf, B.
  - unfold load in L. destruct (decode_all _ _) as [q|] eqn:D; [|discriminate].
    destruct (_ && _); [|discriminate]. injection L as <-. exact (decode_all_loads _ _ _ D).
  - intros i H. unfold input. apply PeanoNat.Nat.ltb_lt in H. rewrite H. reflexivity.
Qed.

(** A refusal has a call for which the program returns something else, with the values of the variables. *)
Theorem refused text program o bytes vars returned demanded :
  check_bytes text program = Refused o bytes vars returned demanded ->
  exists p, parse text = inl p /\ o = byte_order p /\ is_bytes bytes /\ length bytes = 64%nat /\
  kernel_run o program bytes = returned /\ verdict (input o bytes vars) (meaning p) = demanded /\ returned <> Some demanded.
Proof.
  unfold check_bytes. destruct (parse text) as [p|]; [|discriminate].
  destruct (load (byte_order p) program) as [l|]; [|discriminate]. intro E. exists p.
  destruct (search_all_sound _ _ _ _ _ E) as [[X _]|[[why X]|[d Q]]]; [discriminate|discriminate|].
  destruct (first_answer_sound _ _ _ _ _ Q) as [X|(? & ? & ? & ? & X & H)]; [discriminate|].
  injection X as -> -> -> -> ->. split; [reflexivity|]. split; [reflexivity|exact H].
Qed.
