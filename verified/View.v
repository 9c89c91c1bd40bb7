(** Symbolic values, and what can be seen of them: most are some bits of a word, or a word plus a constant. *)
From Coq Require Import NArith List Bool Lia.
From Callgate Require Import Spec Know.
Import ListNotations.
Open Scope N_scope.

Lemma some_inj {T} (a b : T) : Some a = Some b -> a = b.
Proof. congruence. Qed.
Definition wf (d : data) : Prop := forall i, d i < W.

(** * Symbolic values, exact *)

(** [B] has the number of its leaves, which limits the work that a value can cause. *)
Inductive sexp := C (n : N) | Wd (i : nat) | B (size : N) (o : alu) (a b : sexp).
Fixpoint ev (d : data) (e : sexp) : N :=
  match e with C n => n | Wd i => d i | B _ o a b => alu_val o (ev d a) (ev d b) end.
Definition size (e : sexp) : N := match e with B s _ _ _ => s | _ => 1 end.
Fixpoint same (a b : sexp) : bool :=
  match a, b with
  | C m, C n => m =? n
  | Wd i, Wd j => Nat.eqb i j
  | B s o a b, B s' o' a' b' =>
    (s =? s') && match o, o' with
    | Add, Add | Sub, Sub | Mul, Mul | Div, Div | Or, Or | And, And | Lsh, Lsh | Rsh, Rsh | Xor, Xor => same a a' && same b b'
    | _, _ => false
    end
  | _, _ => false
  end.
Definition mkB (o : alu) (a b : sexp) : sexp :=
  match o, a, b with
  | _, C m, C n => C (alu_val o m n)
  | And, _, C 0 | And, C 0, _ => C 0
  | And, Wd i, C n => if n =? ones then a else B 2 o a b
  | _, _, _ => B (size a + size b) o a b
  end.

Lemma same_sound d a : forall b, same a b = true -> ev d a = ev d b.
Proof.
  induction a as [m|i|s o a1 IH1 a2 IH2]; intros [n|j|s' o' b1 b2]; cbn [same ev]; try discriminate.
  - apply N.eqb_eq.
  - intro H. apply PeanoNat.Nat.eqb_eq in H. congruence.
  - intro H. apply andb_true_iff in H. destruct H as [_ H].
    destruct o, o'; try discriminate; apply andb_true_iff in H; destruct H as [H1 H2];
      rewrite (IH1 _ H1), (IH2 _ H2); reflexivity.
Qed.

Lemma mkB_sound d o a b : wf d -> ev d (mkB o a b) = alu_val o (ev d a) (ev d b).
Proof.
  intro Hd. destruct o, a as [m|i|], b as [n|j|]; try reflexivity; cbn [mkB];
    repeat match goal with |- context [match ?n with 0 => _ | N.pos _ => _ end] => destruct n eqn:? end;
    cbn [ev alu_val]; rewrite ?N.land_0_r, ?N.land_0_l; try reflexivity.
  destruct (N.eqb_spec (N.pos p) ones) as [E|]; [|reflexivity]. cbn [ev]. rewrite E. symmetry. apply land_ones_id, Hd.
Qed.

(** * Knowledge about all words *)

(** A test, and what is known about tests that are not about single words. *)
Definition tst := (rel * sexp * sexp)%type.
Definition holds (d : data) (t : tst) : bool := let '(r, a, b) := t in rel_val r (ev d a) (ev d b).
Record know := Knowing { words : list wk; facts : list (tst * bool) }.
Definition word (K : know) (i : nat) : wk := nth i (words K) top.
Definition sat (K : know) (d : data) : Prop :=
  (forall i, inw (word K i) (d i)) /\ Forall (fun f => holds d (fst f) = snd f) (facts K).
Definition nothing (n : nat) : know := Knowing (repeat top n) [].

Fixpoint upd (l : list wk) (i : nat) (k : wk) : list wk :=
  match l, i with
  | [], _ => []
  | _ :: l, O => k :: l
  | h :: l, S i => h :: upd l i k
  end.

Lemma top_sound w : w < W -> inw top w.
Proof.
  intro H. unfold inw, top, ones; cbn [mn mx km kb ex]. unfold W in H.
  repeat split; [lia|lia|apply N.land_0_r|constructor].
Qed.

Lemma nothing_sound n d : wf d -> sat (nothing n) d.
Proof.
  intro H. split; [|constructor]. intro i. unfold word, nothing; cbn [words].
  assert (forall n i, nth i (repeat top n) top = top) as ->.
  { clear. induction n as [|n IH]; intros [|i]; cbn; auto. }
  apply top_sound, H.
Qed.

Lemma upd_sound K i k d : sat K d -> inw k (d i) -> sat (Knowing (upd (words K) i k) (facts K)) d.
Proof.
  intros [H F] I. split; [|exact F]. unfold word in *. cbn [words]. destruct K as [l f]. cbn [words] in *. clear f F.
  revert i d H I. induction l as [|h l IH]; intros i d H I j; [destruct i; apply (H j)|].
  destruct i as [|i], j as [|j]; cbn [upd nth] in *; auto.
  - apply (H (S j)).
  - apply (H O).
  - apply (IH i (fun n => d (S n))); [intro n; apply (H (S n))|exact I].
Qed.

(** * Views *)

(** A constant; [((word & m) xor k) >> s]; [word + c mod 2^32]; something else. *)
Inductive view := VC (n : N) | VM (i : nat) (m k s : N) | VL (i : nat) (c : N) | VO.
Definition view_val (d : data) (v : view) (n : N) : Prop :=
  match v with
  | VC k => n = k
  | VM i m k s => n = N.shiftr (N.lxor (N.land (d i) m) k) s
  | VL i c => c < W /\ n = (d i + c) mod W
  | VO => True
  end.

(** Bits of a word; a constant if they are known. *)
Definition bits_view (K : know) (i : nat) (m k s : N) : view :=
  let wk := word K i in
  if N.ldiff m (km wk) =? 0 then VC (N.shiftr (N.lxor (N.land (kb wk) m) k) s) else VM i m k s.
(** A masked word is the word minus a constant if all other bits are known. *)
Definition linear (K : know) (v : view) : view :=
  match v with
  | VM i m 0 0 =>
    let r := N.ldiff ones m in
    if N.ldiff r (km (word K i)) =? 0 then VL i ((W - N.land (kb (word K i)) r) mod W) else VO
  | VL _ _ => v
  | _ => VO
  end.
Definition add_view (K : know) (v : view) (n : N) : view :=
  match linear K v with VL i c => VL i ((c + n) mod W) | _ => VO end.
Definition see_const (K : know) (o : alu) (v : view) (n : N) : view :=
  match o, v with
  | Add, _ => add_view K v n
  | Sub, _ => add_view K v (W - n mod W)
  | And, VM i m k s => bits_view K i (N.land m (N.shiftl n s)) (N.land k (N.shiftl n s)) s
  | Or, VM i m k s => bits_view K i (N.ldiff m (N.shiftl n s)) (N.lor k (N.shiftl n s)) s
  | Xor, VM i m k s => VM i m (N.lxor k (N.shiftl n s)) s
  | Rsh, VM i m k s => let s := s + N.land n 31 in
    bits_view K i (N.shiftl (N.shiftr m s) s) (N.shiftl (N.shiftr k s) s) s
  (* Bits that are shifted out do not count; the others must be known. *)
  | Lsh, VM i m k 0 => let r := N.shiftr ones (N.land n 31) in
    match bits_view K i (N.land m r) (N.land k r) 0 with VC v => VC (alu_val Lsh v n) | _ => VO end
  | _, _ => VO
  end.
Fixpoint see (K : know) (e : sexp) : view :=
  match e with
  | C n => VC n
  | Wd i => bits_view K i ones 0 0
  | B _ o a b =>
    match see K a, see K b with
    | VC m, VC n => VC (alu_val o m n)
    | v, VC n => see_const K o v n
    | VC n, v => match o with Add | And | Or | Xor => see_const K o v n | _ => VO end
    | _, _ => VO
    end
  end.

Lemma known_bits K d i m : sat K d -> N.ldiff m (km (word K i)) = 0 -> N.land (d i) m = N.land (kb (word K i)) m.
Proof. intros [S _] Z. destruct (S i) as (_ & _ & H & _). exact (sub_bits _ _ _ _ H Z). Qed.

Lemma bits_view_sound K d i m k s : sat K d ->
  view_val d (bits_view K i m k s) (N.shiftr (N.lxor (N.land (d i) m) k) s).
Proof.
  intro S. unfold bits_view. destruct (N.eqb_spec (N.ldiff m (km (word K i))) 0) as [Z|]; cbn [view_val]; [|reflexivity].
  rewrite (known_bits _ _ _ _ S Z). reflexivity.
Qed.

Ltac bits n := apply N.bits_inj; intro n;
  repeat rewrite ?N.shiftr_spec', ?N.land_spec, ?N.lor_spec, ?N.ldiff_spec, ?N.lxor_spec.

Lemma land_compl w m : w < W -> N.land w (N.ldiff ones m) = N.ldiff w m.
Proof.
  intro H. rewrite <- (land_ones_id w H) at 2. bits n.
  destruct (N.testbit w n), (N.testbit m n), (N.testbit ones n); reflexivity.
Qed.

Lemma linear_sound K d v n : wf d -> sat K d -> view_val d v n -> view_val d (linear K v) n.
Proof.
  intros Hd S. destruct v as [k|i m [|k] [|s]|i c|]; cbn [linear]; try exact (fun _ => I); [|exact (fun H => H)].
  destruct (N.eqb_spec (N.ldiff (N.ldiff ones m) (km (word K i))) 0) as [Z|]; [|exact (fun _ => I)].
  cbn [view_val]. intros ->. rewrite N.shiftr_0_r, N.lxor_0_r, <- (known_bits _ _ _ _ S Z), land_compl by apply Hd.
  split; [apply N.mod_lt; discriminate|].
  pose proof (split_mask (d i) m) as E. pose proof (Hd i) as L.
  rewrite N.add_mod_idemp_r by discriminate.
  replace (d i + (W - N.ldiff (d i) m)) with (N.land (d i) m + 1 * W) by lia.
  rewrite N.mod_add by discriminate. symmetry. apply N.mod_small. lia.
Qed.

Lemma add_view_sound K d v n k : wf d -> sat K d -> view_val d v n -> view_val d (add_view K v k) ((n + k) mod W).
Proof.
  intros Hd S V. apply (linear_sound K) in V; [|assumption..]. unfold add_view.
  destruct (linear K v) as [| |i c|]; try exact I. cbn [view_val] in *. destruct V as [_ ->].
  split; [apply N.mod_lt; discriminate|].
  rewrite N.add_mod_idemp_l, N.add_mod_idemp_r by discriminate. f_equal. lia.
Qed.

Lemma shifted_out a n : n < 32 -> N.shiftl a n mod W = N.shiftl (N.land a (N.shiftr ones n)) n mod W.
Proof.
  intro H. change W with (2 ^ 32). rewrite <- !N.land_ones. bits z.
  destruct (N.lt_ge_cases z n) as [L|L]; [rewrite !N.shiftl_spec_low by exact L; reflexivity|].
  rewrite !N.shiftl_spec_high' by exact L. rewrite N.land_spec, N.shiftr_spec', N.sub_add by exact L.
  change ones with (N.ones 32). destruct (N.testbit a (z - n)), (N.testbit (N.ones 32) z); reflexivity.
Qed.
Lemma see_const_sound K d o v a n : wf d -> sat K d -> view_val d v a -> view_val d (see_const K o v n) (alu_val o a n).
Proof.
  intros Hd S V.
  destruct o; cbn [see_const alu_val]; try exact I; try (apply add_view_sound; assumption);
    destruct v as [|i m k s| |]; try exact I; cbn [view_val] in V; rewrite V; clear V a.
  - match goal with |- view_val _ _ ?x => replace x with (N.shiftr (N.lxor (N.land (d i) (N.ldiff m (N.shiftl n s))) (N.lor k (N.shiftl n s))) s) end;
      [apply bits_view_sound, S|]. bits z.
    rewrite N.shiftl_spec_high' by lia. rewrite N.add_sub.
    destruct (N.testbit (d i) _), (N.testbit m _), (N.testbit k _), (N.testbit n z); reflexivity.
  - match goal with |- view_val _ _ ?x => replace x with (N.shiftr (N.lxor (N.land (d i) (N.land m (N.shiftl n s))) (N.land k (N.shiftl n s))) s) end;
      [apply bits_view_sound, S|]. bits z.
    rewrite N.shiftl_spec_high' by lia. rewrite N.add_sub.
    destruct (N.testbit (d i) _), (N.testbit m _), (N.testbit k _), (N.testbit n z); reflexivity.
  - destruct s as [|s]; [|exact I]. set (r := N.shiftr ones (N.land n 31)).
    pose proof (bits_view_sound K d i (N.land m r) (N.land k r) 0 S) as B. destruct (bits_view _ _ _ _ _) as [v| | |]; try exact I.
    cbn [view_val alu_val] in *. rewrite N.shiftr_0_r in *. rewrite <- B. rewrite shifted_out.
    + f_equal. f_equal. fold r. clearbody r. bits z. destruct (N.testbit (d i) z), (N.testbit m z), (N.testbit k z), (N.testbit r z); reflexivity.
    + change 31 with (N.ones 5). rewrite N.land_ones. apply N.mod_lt. discriminate.
  - rewrite N.shiftr_shiftr. set (t := s + N.land n 31).
    match goal with |- view_val _ _ ?x => replace x with
      (N.shiftr (N.lxor (N.land (d i) (N.shiftl (N.shiftr m t) t)) (N.shiftl (N.shiftr k t) t)) t) end;
      [apply bits_view_sound, S|]. bits z.
    rewrite !N.shiftl_spec_high' by lia. rewrite !N.shiftr_spec', !N.sub_add by lia. reflexivity.
  - cbn [view_val]. bits z. rewrite N.shiftl_spec_high' by lia. rewrite N.add_sub.
    destruct (N.testbit (d i) _), (N.testbit m _), (N.testbit k _), (N.testbit n z); reflexivity.
Qed.

Lemma alu_comm o a b : match o with Add | And | Or | Xor => alu_val o a b = alu_val o b a | _ => True end.
Proof.
  destruct o; try exact I; cbn [alu_val].
  - f_equal. apply N.add_comm.
  - apply N.lor_comm.
  - apply N.land_comm.
  - apply N.lxor_comm.
Qed.

Lemma see_sound K d e : wf d -> sat K d -> view_val d (see K e) (ev d e).
Proof.
  intros Hd S. induction e as [n|i|s o a IHa b IHb]; cbn [see ev].
  - reflexivity.
  - pose proof (bits_view_sound K d i ones 0 0 S) as H.
    rewrite N.lxor_0_r, N.shiftr_0_r, land_ones_id in H by apply Hd. exact H.
  - assert (forall n, ev d b = n -> view_val d (see_const K o (see K a) n) (alu_val o (ev d a) (ev d b))) as R.
    { intros n ->. apply see_const_sound; assumption. }
    assert (forall n, ev d a = n -> view_val d (match o with Add | And | Or | Xor => see_const K o (see K b) n | _ => VO end)
      (alu_val o (ev d a) (ev d b))) as L.
    { intros n <-. pose proof (alu_comm o (ev d a) (ev d b)) as E.
      destruct o; try exact I; rewrite E; apply see_const_sound; assumption. }
    destruct (see K a) as [m|i m k t|i c|] eqn:Ea, (see K b) as [n|j n k' t'|j n|] eqn:Eb; try exact I;
      cbn [view_val] in IHa, IHb; auto.
    cbn [view_val]. congruence.
Qed.
