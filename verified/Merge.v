(** Where paths meet: what is known is used to simplify what is left of the policy, and then forgotten, so that many paths
    continue as one.

    A place may be replaced by one of which less is known, and dropped if another one covers it: [forget_right] and
    [covers_right]. What to forget is a matter of success only: if too much is, no proof is found. *)
From Coq Require Import NArith List Bool Lia MSetPositive.
From Callgate Require Import Spec Know View Decide Ask Clauses.
Import ListNotations.
Open Scope N_scope.

(** * Places *)

(** What the program does from an instruction on: how many instructions are left, which words it may load (bits), and whether it
    may read X and scratch words as they are. *)
Record note := Note { left_ : N; loads : N; reads_x : bool; reads_mem : bool }.
(** A place in the program: the knowledge that leads there, what is left of the policy, the instructions that follow with their
    notes, and the registers. [None], and a scratch word that is not in the list, may have any value. [hints] are more knowledge,
    about some of the paths that lead there; only calls of refusals are taken from them. *)
Record place := Place {
  known : know; pol : due; rest : list insn; notes : list note; acc : sexp; idx : option sexp; mem : list (nat * sexp);
  hints : list know }.
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

(** * Less of a policy *)

(** Changes the clauses of a policy about one syscall. The function gets what is given without them, too. *)
Definition on_clauses (f : N -> list clause -> list clause) (p : due) : due :=
  let on r := match r with Clauses l default => Clauses (f default l) default | r => r end in
  match p with inl r => inl (on r) | inr l => inr (map on l) end.
Lemma on_clauses_sound d f p : (forall l def, clauses_val d (f def l) def = clauses_val d l def) ->
  due_val d (on_clauses f p) = due_val d p.
Proof.
  intro H. destruct p as [[| |l def]|l]; try reflexivity; cbn [on_clauses due_val]; [apply H|].
  f_equal. rewrite map_map. apply map_ext. intros [| |]; try reflexivity. apply H.
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

(** Ways to forget. [Keep]: what is known about words that are loaded again is kept. [Decide]: it decides clauses, and is
    forgotten, for programs that make each test once on a path. With the others, each result of a jump simplifies clauses at
    once, and is forgotten. [Once]: all clauses, but only tests of the same bits. [Again]: the first one and those behind it that
    are [informed], for programs that test clause after clause. [Follow]: the first one and those behind it that exclude it. What
    is known about words that are not loaded again decides all clauses. *)
Inductive way := Keep | Decide | Once | Again | Beside | Follow.
Definition follows (how : option way) : bool := match how with Some (Once | Again | Beside | Follow) => true | _ => false end.
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
  let used := if follows (Some how) then keep_words (N.ldiff (N.ones 64) live) K else K in
  let due := on_clauses (fun default l => simplify_all used (decided (decide used)) default l []) due in
  let keep := N.lor (match how with Keep => live | _ => N.land live 3 end) (if numbered due then 1 else 0) in
  Place (keep_words keep K) due rest notes a x m (match h with [] => [K] | _ => h end).

(** What is left of the clauses after a jump, whose condition has a result. *)
Definition after_result (how : way) (none : know) (f : form) (b : bool) (l : list clause) : list clause :=
  let K := suppose f b none in
  match how, l with
  | Once, _ => simplify_while (fun _ => true) K (decided (tells (scope_of f b) K)) l
  | (Again | Beside), c :: rest =>
    let first := literals (guard c) [] in
    let is_alone := match how, rest with
      | Again, next :: _ => negb (alternate first (literals (guard next) [])) | _, _ => false end in
    let chosen := informed (suppose f true none) (suppose f false none) is_alone first (values_in none first) in
    simplify_first chosen K (decided (tells (scope_of f b) K)) c rest
  | Follow, c :: rest => simplify_first (exclusive (suppose (guard c) true none)) K (decided (decide K)) c rest
  | _, _ => l
  end.
(** What is left of the policy after a split, for which there is this knowledge, and after a jump. A split by the condition of a
    jump is followed by the jump, so that clauses are simplified once. *)
Definition after_split (how : option way) (K : know) (p : due) : due :=
  if follows how && mergeable p then p else narrow K p.
Definition after_jump (how : option way) (K : know) (f : form) (b : bool) (p : due) : due :=
  match how with
  | Some how => on_clauses (fun _ => after_result how (nothing (length (words K))) f b) p
  | None => p
  end.

Lemma after_result_sound how n f b l def d : wf d -> fval d f = b ->
  clauses_val d (after_result how (nothing n) f b l) def = clauses_val d l def.
Proof.
  intros Hd E. pose proof (suppose_sound d f Hd (nothing n) b (nothing_sound n d Hd) E) as S.
  assert (forall s t, fval d (decided (tells s (suppose f b (nothing n))) t) = holds d t) as T.
  { intros s t. apply decided_sound. intros t' b'. apply tells_sound; assumption. }
  destruct how, l as [|c l]; try reflexivity; cbn [after_result].
  - apply simplify_while_sound; auto.
  - apply simplify_first_sound; auto.
  - apply simplify_first_sound; auto.
  - apply simplify_first_sound; auto. intro t. apply decided_sound. intros t' b'. apply decide_sound; assumption.
Qed.
Lemma after_split_sound how K p d : wf d -> sat K d -> due_val d (after_split how K p) = due_val d p.
Proof. intros Hd S. unfold after_split. destruct (_ && _); [reflexivity|apply (narrow_sound K d Hd S)]. Qed.
Lemma after_jump_sound how K f b p d : wf d -> fval d f = b -> due_val d (after_jump how K f b p) = due_val d p.
Proof.
  intros Hd E. destruct how as [how|]; [|reflexivity]. apply on_clauses_sound. intros l def.
  exact (after_result_sound how _ f b l def d Hd E).
Qed.

Lemma forget_right how p : right (forget how p) -> right p.
Proof.
  destruct p as [K due q ns a x m h]. intros R d Hd S n v s Hn Hx Hm. unfold forget, right in R.
  cbn [known pol rest acc idx mem] in *. rewrite (R d); clear R; try assumption.
  - match goal with |- context [simplify_all ?K'] => set (used := K') end. assert (sat used d) as U.
    { unfold used. destruct (follows _); [apply keep_words_sound; assumption|exact S]. }
    assert (forall t, fval d (decided (decide used) t) = holds d t) as T.
    { intro t. apply decided_sound. intros t' b'. apply decide_sound; assumption. }
    f_equal. apply on_clauses_sound. intros l def. exact (simplify_all_sound used d _ Hd U T l def []).
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
(** The places, one of which covers [p] and gets its hints. *)
Definition max_hints : nat := 6.
Definition add_hints (g p : place) : place :=
  let '(Place K due rest notes a x m h) := g in
  Place K due rest notes a x m (if Nat.leb max_hints (length h) then h else h ++ hints p).
Fixpoint cover (p : place) (ps : list place) : option (list place) :=
  match ps with
  | [] => None
  | g :: ps => if covers_place g p then Some (add_hints g p :: ps) else option_map (cons g) (cover p ps)
  end.
Fixpoint postpone (p : place) (n : N) (l : later) : later :=
  match l with
  | [] => [(n, [p])]
  | (m, ps) :: rest =>
    if m <? n then (n, [p]) :: l
    else if n <? m then (m, ps) :: postpone p n rest
    else (m, match cover p ps with Some ps => ps | None => p :: ps end) :: rest
  end.
Definition all_right (l : later) : Prop := Forall (fun e => Forall right (snd e)) l.

Lemma cover_sound p : forall ps l, cover p ps = Some l -> Forall right l -> right p /\ Forall right ps.
Proof.
  induction ps as [|g ps IH]; intros l; cbn [cover]; [discriminate|]. destruct (covers_place g p) eqn:C.
  - intro E; apply some_inj in E; subst l. intro F. inversion_clear F as [|? ? A B].
    assert (right g) as G by (destruct g; exact A). split; [exact (covers_right g p C G)|constructor; assumption].
  - destruct (cover p ps) as [l'|]; [|discriminate]. intro E; apply some_inj in E; subst l. intro F.
    inversion_clear F as [|? ? A B]. destruct (IH l' eq_refl B). split; [assumption|constructor; assumption].
Qed.
Lemma postpone_sound p n l : all_right (postpone p n l) -> right p /\ all_right l.
Proof.
  unfold all_right. induction l as [|[m ps] l IH]; cbn [postpone]; intro H.
  - split; [exact (Forall_inv (Forall_inv H))|constructor].
  - destruct (m <? n).
    { inversion_clear H as [|? ? A B]. split; [exact (Forall_inv A)|exact B]. }
    destruct (n <? m).
    { inversion_clear H as [|? ? A B]. destruct (IH B) as [R F]. split; [exact R|constructor; assumption]. }
    inversion_clear H as [|? ? A B]. cbn [snd] in A. destruct (cover p ps) as [ps'|] eqn:E.
    + destruct (cover_sound p ps ps' E A) as [R F]. split; [exact R|constructor; [exact F|exact B]].
    + inversion_clear A. split; [assumption|constructor; assumption].
Qed.
