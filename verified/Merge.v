(** Where paths meet: what is known is used to simplify what is left of the policy, and then forgotten, so that many paths
    continue as one.

    A place may be replaced by one of which less is known, and dropped if another one covers it: [forget_right] and
    [covers_right]. What to forget is a matter of success only: if too much is, no proof is found. *)
From Coq Require Import NArith List Bool Lia MSetPositive.
From Callgate Require Import Spec Know View Decide Ask.
Import ListNotations.
Open Scope N_scope.

(** * Places *)

(** What the program does from an instruction on: how many instructions are left, which words it may load (bits), and whether it
    may read X and scratch words as they are. *)
Record note := Note { left_ : N; loads : N; reads_x : bool; reads_mem : bool }.
(** A place in the program: the knowledge that leads there, what is left of the policy, the instructions that follow with their
    notes, and the registers. [None], and a scratch word that is not in the list, may have any value. [hint] is more knowledge,
    about one of the paths that lead there; only calls of refusals are taken from it. *)
Record place := Place {
  known : know; pol : due; rest : list insn; notes : list note; acc : sexp; idx : option sexp; mem : list (nat * sexp);
  hint : option know }.
Fixpoint scratch (m : list (nat * sexp)) (i : nat) : option sexp :=
  match m with [] => None | (j, e) :: m => if Nat.eqb i j then Some e else scratch m i end.

Definition is_value (d : data) (e : option sexp) (v : N) : Prop := match e with Some e => v = ev d e | None => True end.
Definition is_mem (d : data) (m : list (nat * sexp)) (s : nat -> N) : Prop := forall i, is_value d (scratch m i) (s i).
(** From this place, the program returns what is left of the policy says. *)
Definition right (p : place) : Prop := forall d, wf d -> sat (known p) d ->
  forall n x s, (length (rest p) <= n)%nat -> is_value d (idx p) x -> is_mem d (mem p) s ->
  run n (rest p) (ev d (acc p)) x s d = Some (due_val d (pol p)).

Definition no_note := Note 0 0 false false.
Definition either (a b : note) : note :=
  Note 0 (N.lor (loads a) (loads b)) (reads_x a || reads_x b) (reads_mem a || reads_mem b).
Fixpoint notes_of (p : list insn) : list note :=
  match p with
  | [] => []
  | i :: q =>
    let l := notes_of q in
    let at_ k := nth k l no_note in
    let a := at_ O in
    let x b := Note 0 (loads a) b (reads_mem a) in
    let '(Note _ w rx rm) := match i with
      | LdAbs w => Note 0 (N.setbit (loads a) (N.of_nat w)) (reads_x a) (reads_mem a)
      | LdMem _ => Note 0 (loads a) (reads_x a) true
      | LdxMem _ => Note 0 (loads a) false true
      | LdxImm _ | Tax => x false
      | Stx _ | Txa | Alu _ SX => x true
      | Ja k => at_ k
      | Jmp _ SX jt jf => let n := either (at_ jt) (at_ jf) in Note 0 (loads n) true (reads_mem n)
      | Jmp _ _ jt jf => either (at_ jt) (at_ jf)
      | RetK _ | RetA => no_note
      | _ => a
      end in
    Note (match l with n :: _ => left_ n + 1 | [] => 1 end) w rx rm :: l
  end.

(** * Less of a policy: what is known decides some of it *)

Fixpoint simplify (K : know) (f : form) : form :=
  match f with
  | FB _ => f
  | FT t => match decide K t with Some b => FB b | None => f end
  | FAnd a b => match simplify K a with
    | FB false => FB false
    | FB true => simplify K b
    | a => match simplify K b with FB false => FB false | FB true => a | b => FAnd a b end
    end
  | FOr a b => match simplify K a with
    | FB true => FB true
    | FB false => simplify K b
    | a => match simplify K b with FB true => FB true | FB false => a | b => FOr a b end
    end
  | FNot a => match simplify K a with FB b => FB (negb b) | a => FNot a end
  end.
Definition every : list (N * N) := [(0, ones)].
(** [None]: the clause does not apply. *)
Definition simplify_clause (K : know) (c : clause) : option clause :=
  match ask_numbers (word K 0) (ranges c) with
  | No => None
  | a => match simplify K (guard c) with
    | FB false => None
    | f => Some (Clause (gives c) (match a with Yes => every | _ => ranges c end) f)
    end
  end.
Definition is_every (l : list (N * N)) : bool := match l with [(0, hi)] => hi =? ones | _ => false end.
Definition is_certain (c : clause) : bool := match guard c with FB true => is_every (ranges c) | _ => false end.
Fixpoint simplify_all (K : know) (l done : list clause) : list clause :=
  match l with
  | [] => rev_append done []
  | c :: l => match simplify_clause K c with
    | None => simplify_all K l done
    | Some c => if is_certain c then rev_append done [c] else simplify_all K l (c :: done)
    end
  end.

(** For programs that test clause after clause, and test again what they know: a result simplifies the first clause, and those
    behind it that exclude it, but no others. *)
Fixpoint suppose (f : form) (b : bool) (K : know) : know :=
  match f with
  | FB _ => K
  | FT t => match learn K t b with Some K => K | None => K end
  | FAnd f g => if b then suppose f b (suppose g b K) else K
  | FOr f g => if b then K else suppose f b (suppose g b K)
  | FNot f => suppose f (negb b) K
  end.
Fixpoint simplify_exclusive (K first : know) (l : list clause) : list clause :=
  match l with
  | [] => []
  | c :: rest => match ask_form first (guard c) with
    | No => match simplify_clause K c with
      | Some c => c :: simplify_exclusive K first rest | None => simplify_exclusive K first rest end
    | _ => l
    end
  end.
Definition simplify_first (K : know) (l : list clause) : list clause :=
  match l with
  | [] => []
  | c :: rest =>
    let rest := simplify_exclusive K (suppose (guard c) true (nothing (length (words K)))) rest in
    match simplify_clause K c with Some c => c :: rest | None => rest end
  end.

Definition on_clauses (f : list clause -> list clause) (p : due) : due :=
  let on r := match r with Clauses l default => Clauses (f l) default | r => r end in
  match p with inl r => inl (on r) | inr l => inr (map on l) end.

Lemma simplify_sound K d f : wf d -> sat K d -> fval d (simplify K f) = fval d f.
Proof.
  intros Hd S. induction f as [b|t|a IHa b IHb|a IHa b IHb|a IHa]; cbn [simplify fval].
  - reflexivity.
  - destruct (decide K t) as [b|] eqn:D; [|reflexivity]. symmetry. exact (decide_sound _ _ _ _ Hd S D).
  - rewrite <- IHa, <- IHb. destruct (simplify K a) as [[|]| | | |]; try reflexivity;
      destruct (simplify K b) as [[|]| | | |]; cbn [fval]; rewrite ?andb_true_r, ?andb_false_r; reflexivity.
  - rewrite <- IHa, <- IHb. destruct (simplify K a) as [[|]| | | |]; try reflexivity;
      destruct (simplify K b) as [[|]| | | |]; cbn [fval]; rewrite ?orb_true_r, ?orb_false_r; reflexivity.
  - rewrite <- IHa. destruct (simplify K a); reflexivity.
Qed.
Lemma is_every_sound d l : wf d -> is_every l = true -> covers (d 0%nat) l = true.
Proof.
  intro Hd. destruct l as [|[[|lo] hi] [|i l]]; try discriminate. cbn [is_every]. intro E. apply N.eqb_eq in E. subst hi.
  unfold covers. cbn [existsb fst snd]. pose proof (Hd 0%nat) as H. unfold W in H. unfold ones.
  destruct (N.leb_spec 0 (d 0%nat)), (N.leb_spec (d 0%nat) 4294967295); try reflexivity; lia.
Qed.

Section Simplify.
Variables (K : know) (d : data).
Hypotheses (Hd : wf d) (S : sat K d).

Lemma simplify_clause_sound c :
  match simplify_clause K c with
  | Some c' => gives c' = gives c /\ applies d c' = applies d c
  | None => applies d c = false
  end.
Proof.
  unfold simplify_clause, applies. pose proof (ask_numbers_sound K d S (ranges c)) as A.
  rewrite <- (simplify_sound K d (guard c) Hd S).
  destruct (ask_numbers _ _); cbn [is_ans] in A.
  - rewrite A. destruct (simplify K (guard c)) as [[|]| | | |] eqn:E; try reflexivity; cbn [gives ranges guard];
      split; try reflexivity; rewrite (is_every_sound d every Hd eq_refl); reflexivity.
  - rewrite A. reflexivity.
  - destruct (simplify K (guard c)) as [[|]| | | |]; try (split; reflexivity). apply andb_false_r.
Qed.
Lemma simplify_all_sound l def : forall done,
  clauses_val d (simplify_all K l done) def = clauses_val d (rev done) (clauses_val d l def).
Proof.
  induction l as [|c l IH]; intro done; cbn [simplify_all]; [rewrite rev_append_rev, app_nil_r; reflexivity|].
  pose proof (simplify_clause_sound c) as A. rewrite (clauses_val_cons d c l).
  destruct (simplify_clause K c) as [c'|]; [|rewrite A; apply IH]. destruct A as [G A]. rewrite <- G, <- A.
  destruct (is_certain c') eqn:C.
  - rewrite rev_append_rev, clauses_val_app, clauses_val_cons. unfold is_certain in C. unfold applies.
    destruct (guard c') as [[|]| | | |]; try discriminate. rewrite (is_every_sound d _ Hd C). reflexivity.
  - rewrite IH. cbn [rev]. rewrite clauses_val_app. f_equal. rewrite clauses_val_cons. reflexivity.
Qed.
Lemma simplify_exclusive_sound first l def :
  clauses_val d (simplify_exclusive K first l) def = clauses_val d l def.
Proof.
  induction l as [|c l IH]; cbn [simplify_exclusive]; [reflexivity|]. destruct (ask_form first _); try reflexivity.
  pose proof (simplify_clause_sound c) as A. rewrite (clauses_val_cons d c l).
  destruct (simplify_clause K c) as [c'|]; [|rewrite A; exact IH].
  destruct A as [G A]. rewrite clauses_val_cons, G, A, IH. reflexivity.
Qed.
Lemma simplify_first_sound l def : clauses_val d (simplify_first K l) def = clauses_val d l def.
Proof.
  destruct l as [|c l]; cbn [simplify_first]; [reflexivity|].
  pose proof (simplify_clause_sound c) as A. rewrite (clauses_val_cons d c l).
  destruct (simplify_clause K c) as [c'|]; [|rewrite A; apply simplify_exclusive_sound].
  destruct A as [G A]. rewrite clauses_val_cons, G, A, simplify_exclusive_sound. reflexivity.
Qed.
End Simplify.

Lemma on_clauses_sound d f p : (forall l def, clauses_val d (f l) def = clauses_val d l def) ->
  due_val d (on_clauses f p) = due_val d p.
Proof.
  intro H. destruct p as [[| |l def]|l]; try reflexivity; cbn [on_clauses due_val]; [apply H|].
  f_equal. rewrite map_map. apply map_ext. intros [| |]; try reflexivity. apply H.
Qed.

Lemma suppose_sound d f : wf d -> forall K b, sat K d -> fval d f = b -> sat (suppose f b K) d.
Proof.
  intro Hd. induction f as [c|t|f IHf g IHg|f IHf g IHg|f IHf]; intros K b S E; cbn [suppose fval] in *; try assumption.
  - destruct (learn_sound K d t Hd S) as [K' [L S']]. rewrite E in L. rewrite L. exact S'.
  - destruct b; [|exact S]. apply andb_true_iff in E. destruct E. auto.
  - destruct b; [exact S|]. apply orb_false_iff in E. destruct E. auto.
  - apply IHf; [exact S|]. rewrite <- E. symmetry. apply negb_involutive.
Qed.

(** * Less knowledge *)

(** Keeps what is known about the words in [keep], from word [i] on. *)
Fixpoint only (keep : N) (i : N) (l : list wk) : list wk :=
  match l with [] => [] | k :: l => (if N.testbit keep i then k else top) :: only keep (i + 1) l end.
Definition keep_words (keep : N) (K : know) : know := Knowing (only keep 0 (words K)) [].
(** The words of a value, as bits. *)
Fixpoint words_in (e : sexp) : N :=
  match e with C _ => 0 | Wd i => N.setbit 0 (N.of_nat i) | B _ _ a b => N.lor (words_in a) (words_in b) end.

Lemma only_sound keep : forall l i d, wf d -> (forall n, inw (nth n l top) (d n)) ->
  forall n, inw (nth n (only keep i l) top) (d n).
Proof.
  induction l as [|k l IH]; intros i d Hd H n; [destruct n; apply top_sound, Hd|].
  destruct n as [|n]; cbn [only nth].
  - destruct (N.testbit keep i); [exact (H O)|apply top_sound, Hd].
  - exact (IH (i + 1) (fun n => d (S n)) (fun n => Hd (S n)) (fun n => H (S n)) n).
Qed.
Lemma keep_words_sound keep K d : wf d -> sat K d -> sat (keep_words keep K) d.
Proof. intros Hd [H _]. split; [|constructor]. exact (only_sound keep (words K) 0 d Hd H). Qed.

(** Three ways to forget. [Keep]: what is known about words that are loaded again is kept. [Decide]: it decides clauses, and is
    forgotten, for programs that make each test once on a path. [Follow]: each result simplifies the first clauses, and is
    forgotten. What is known about words that are not loaded again decides all clauses. *)
Inductive way := Keep | Decide | Follow.
Definition mergeable (p : due) : bool :=
  let is r := match r with Clauses _ _ => true | _ => false end in match p with inl r => is r | inr l => forallb is l end.
Definition numbered (p : due) : bool :=
  let is r := match r with Clauses l _ => negb (forallb (fun c => is_every (ranges c)) l) | _ => true end in
  match p with inl r => is r | inr l => existsb is l end.
Definition forget (how : way) (p : place) : place :=
  let '(Place K due rest notes a x m h) := p in
  let n := match notes with n :: _ => n | [] => Note 0 (N.ones 64) true true end in
  let x := if reads_x n then x else None in
  let m := if reads_mem n then m else [] in
  let live := fold_left (fun live e => N.lor live (words_in (snd e))) m
    (N.lor (N.lor (loads n) (words_in a)) (match x with Some e => words_in e | None => 0 end)) in
  let due := match how with
    | Follow => on_clauses (fun l => simplify_all (keep_words (N.ldiff (N.ones 64) live) K) l []) due
    | _ => on_clauses (fun l => simplify_all K l []) due
    end in
  let keep := N.lor (match how with Keep => live | _ => N.land live 3 end) (if numbered due then 1 else 0) in
  Place (keep_words keep K) due rest notes a x m (match h with Some _ => h | None => Some K end).

(** What is left of the policy after a split, for which there is this knowledge, and after a jump, whose condition has a result.
    A split by the condition of a jump is followed by the jump, so [Follow] simplifies clauses once. *)
Definition first_clauses (K : know) (f : form) (b : bool) (p : due) : due :=
  on_clauses (simplify_first (suppose f b (nothing (length (words K))))) p.
Definition after_split (how : option way) (K : know) (p : due) : due :=
  match how with Some Follow => if mergeable p then p else narrow K p | _ => narrow K p end.
Definition after_jump (how : option way) (K : know) (f : form) (b : bool) (p : due) : due :=
  match how with Some Follow => first_clauses K f b p | _ => p end.

Lemma first_clauses_sound K f b p d : wf d -> fval d f = b -> due_val d (first_clauses K f b p) = due_val d p.
Proof.
  intros Hd E. apply on_clauses_sound. intros l def. apply simplify_first_sound; [exact Hd|].
  apply suppose_sound; [exact Hd|apply nothing_sound, Hd|exact E].
Qed.
Lemma after_split_sound how K p d : wf d -> sat K d -> due_val d (after_split how K p) = due_val d p.
Proof.
  intros Hd S. unfold after_split.
  destruct how as [[]|]; try apply (narrow_sound K d Hd S). destruct (mergeable p); [reflexivity|apply (narrow_sound K d Hd S)].
Qed.
Lemma after_jump_sound how K f b p d : wf d -> fval d f = b -> due_val d (after_jump how K f b p) = due_val d p.
Proof. intros Hd E. destruct how as [[]|]; try reflexivity. apply first_clauses_sound; assumption. Qed.

Lemma forget_right how p : right (forget how p) -> right p.
Proof.
  destruct p as [K due q ns a x m h]. intros R d Hd S n v s Hn Hx Hm. unfold forget, right in R.
  cbn [known pol rest acc idx mem] in *. rewrite (R d); clear R; try assumption.
  - assert (forall K l def, sat K d -> clauses_val d (simplify_all K l []) def = clauses_val d l def) as All.
    { intros K' l def S'. exact (simplify_all_sound K' d Hd S' l def []). }
    f_equal. destruct how; apply on_clauses_sound; intros l def;
      apply All; auto using keep_words_sound.
  - apply keep_words_sound; assumption.
  - destruct (reads_x _); [exact Hx|exact I].
  - destruct (reads_mem _); [exact Hm|]. intro i. exact I.
Qed.

(** * Places that cover others *)

Definition N_pair_eq (a b : N * N) : {a = b} + {a <> b}.
Proof. decide equality; apply N.eq_dec. Defined.
Definition alu_eq (a b : alu) : {a = b} + {a <> b}.
Proof. decide equality. Defined.
Definition rel_eq (a b : rel) : {a = b} + {a <> b}.
Proof. decide equality. Defined.
Definition src_eq (a b : src) : {a = b} + {a <> b}.
Proof. decide equality. apply N.eq_dec. Defined.
Definition insn_eq (a b : insn) : {a = b} + {a <> b}.
Proof. decide equality; auto using N.eq_dec, PeanoNat.Nat.eq_dec, alu_eq, rel_eq, src_eq. Defined.
Definition sexp_eq (a b : sexp) : {a = b} + {a <> b}.
Proof. decide equality; auto using N.eq_dec, PeanoNat.Nat.eq_dec, alu_eq. Defined.
Definition tst_eq (a b : tst) : {a = b} + {a <> b}.
Proof. decide equality; [apply sexp_eq|]. decide equality; [apply sexp_eq|apply rel_eq]. Defined.
Definition form_eq (a b : form) : {a = b} + {a <> b}.
Proof. decide equality; auto using Bool.bool_dec, tst_eq. Defined.
Definition clause_eq (a b : clause) : {a = b} + {a <> b}.
Proof. decide equality; [apply form_eq|apply (list_eq_dec N_pair_eq)|apply N.eq_dec]. Defined.
Definition tree_eq (a b : tree) : {a = b} + {a <> b}.
Proof. decide equality; [apply (list_eq_dec clause_eq)|apply N.eq_dec]. Defined.
Definition section_eq (a b : ready_section) : {a = b} + {a <> b}.
Proof. decide equality; auto using N.eq_dec, tree_eq. Defined.
Definition residual_eq (a b : residual) : {a = b} + {a <> b}.
Proof. decide equality; auto using N.eq_dec, tree_eq, (list_eq_dec section_eq), (list_eq_dec clause_eq). Defined.
Definition due_eq (a b : due) : {a = b} + {a <> b}.
Proof. revert a b. unfold due. decide equality; [apply residual_eq|apply (list_eq_dec residual_eq)]. Defined.
Definition mem_eq (a b : list (nat * sexp)) : {a = b} + {a <> b}.
Proof. apply list_eq_dec. decide equality; [apply sexp_eq|apply PeanoNat.Nat.eq_dec]. Defined.
Definition idx_eq (a b : option sexp) : {a = b} + {a <> b}.
Proof. decide equality. apply sexp_eq. Defined.

(** Whether nothing else is known of [g] than of [k]. *)
Definition looser (g k : wk) : bool :=
  (mn g <=? mn k) && (mx k <=? mx g) && (N.ldiff (km g) (km k) =? 0) && (N.land (kb k) (km g) =? kb g) &&
  forallb (fun e => existsb (fun f => (fst e =? fst f) && PositiveSet.subset (snd e) (snd f)) (ex k)) (ex g).
Fixpoint all_looser (l m : list wk) : bool :=
  match l, m with [], _ => true | _, [] => false | g :: l, k :: m => looser g k && all_looser l m end.
Definition covers_place (g p : place) : bool :=
  match facts (known g) with
  | [] =>
    if sexp_eq (acc g) (acc p) then if idx_eq (idx g) (idx p) then if mem_eq (mem g) (mem p) then
    if all_looser (words (known g)) (words (known p)) then if due_eq (pol g) (pol p) then
    if list_eq_dec insn_eq (rest g) (rest p) then true
    else false else false else false else false else false else false
  | _ => false
  end.

Lemma looser_sound g k w : looser g k = true -> inw k w -> inw g w.
Proof.
  unfold looser. rewrite !andb_true_iff, !N.leb_le, !N.eqb_eq. intros [[[[A B] C] D] E] (H1 & H2 & H3 & H4).
  repeat split; [lia|lia|rewrite (sub_bits _ _ _ _ H3 C); exact D|].
  apply Forall_forall. intros [m s] I. rewrite forallb_forall in E. specialize (E _ I). cbn [fst snd] in *.
  apply existsb_exists in E. destruct E as [[m' s'] [J E]]. cbn [fst snd] in E. apply andb_true_iff in E.
  destruct E as [M U]. apply N.eqb_eq in M. subst m'. apply PositiveSet.subset_spec in U.
  unfold allowed in H4. rewrite Forall_forall in H4. specialize (H4 _ J). cbn [fst snd] in H4.
  unfold has in *. apply not_true_iff_false. intro X. apply PositiveSet.mem_spec in X. apply U in X.
  apply PositiveSet.mem_spec in X. congruence.
Qed.
Lemma all_looser_sound d : wf d -> forall l m, all_looser l m = true ->
  (forall i, inw (nth i m top) (d i)) -> forall i, inw (nth i l top) (d i).
Proof.
  intros Hd l. revert d Hd. induction l as [|g l IH]; intros d Hd m E S i; [destruct i; apply top_sound, Hd|].
  destruct m as [|k m]; [discriminate|]. cbn [all_looser] in E. apply andb_true_iff in E. destruct E as [E E'].
  destruct i as [|i]; cbn [nth]; [exact (looser_sound _ _ _ E (S O))|].
  exact (IH (fun n => d (Datatypes.S n)) (fun n => Hd _) m E' (fun n => S (Datatypes.S n)) i).
Qed.
Lemma covers_right g p : covers_place g p = true -> right g -> right p.
Proof.
  unfold covers_place. destruct (facts (known g)) eqn:F; [|discriminate].
  destruct (sexp_eq (acc g) (acc p)) as [EA|]; [|discriminate]. destruct (idx_eq (idx g) (idx p)) as [EX|]; [|discriminate].
  destruct (mem_eq (mem g) (mem p)) as [EM|]; [|discriminate]. destruct (all_looser _ _) eqn:L; [|discriminate].
  destruct (due_eq (pol g) (pol p)) as [EP|]; [|discriminate].
  destruct (list_eq_dec insn_eq (rest g) (rest p)) as [ER|]; [|discriminate]. intros _.
  unfold right. rewrite EA, EX, EM, EP, ER. intros G d Hd [S _]. apply (G d Hd). split.
  - exact (all_looser_sound d Hd _ _ L S).
  - rewrite F. constructor.
Qed.

(** * Places to continue from later, those with the most instructions left first *)

Definition later := list (N * list place).
Fixpoint postpone (p : place) (n : N) (l : later) : later :=
  match l with
  | [] => [(n, [p])]
  | (m, ps) :: rest =>
    if m <? n then (n, [p]) :: l
    else if n <? m then (m, ps) :: postpone p n rest
    else (m, if existsb (fun g => covers_place g p) ps then ps else p :: ps) :: rest
  end.
Definition all_right (l : later) : Prop := Forall (fun e => Forall right (snd e)) l.

Lemma postpone_sound p n l : all_right (postpone p n l) -> right p /\ all_right l.
Proof.
  unfold all_right. induction l as [|[m ps] l IH]; cbn [postpone]; intro H.
  - split; [exact (Forall_inv (Forall_inv H))|constructor].
  - destruct (m <? n).
    { inversion_clear H as [|? ? A B]. split; [exact (Forall_inv A)|exact B]. }
    destruct (n <? m).
    { inversion_clear H as [|? ? A B]. destruct (IH B) as [R F]. split; [exact R|constructor; assumption]. }
    inversion_clear H as [|? ? A B]. cbn [snd] in A. destruct (existsb _ ps) eqn:E.
    + apply existsb_exists in E. destruct E as [g [I G]]. rewrite Forall_forall in A.
      split; [exact (covers_right g p G (A g I))|constructor; [apply Forall_forall, A|exact B]].
    + inversion_clear A. split; [assumption|constructor; assumption].
Qed.
