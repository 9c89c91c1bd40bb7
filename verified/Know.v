(** What is known about the words of the input on a path: per word an interval, known bits, and excluded values.

    Each function that adds knowledge returns [None] if no value is left; its lemma says that a value that satisfies both the
    old knowledge and the new fact satisfies the result. *)
From Coq Require Import NArith List Bool Lia MSetPositive.
From Callgate Require Import Spec.
Import ListNotations.
Open Scope N_scope.

Definition ones : N := 4294967295.
(** Excluded values of the bits in a mask, for several masks. *)
Definition excl := list (N * PositiveSet.t).
Definition has (v : N) (s : PositiveSet.t) : bool := PositiveSet.mem (N.succ_pos v) s.
(** The bits [km] of the word are [kb]. *)
Record wk := { mn : N; mx : N; km : N; kb : N; ex : excl }.
Definition top := {| mn := 0; mx := ones; km := 0; kb := 0; ex := [] |}.
Definition allowed (e : excl) (w : N) : Prop := Forall (fun e => has (N.land w (fst e)) (snd e) = false) e.
Definition inw (k : wk) (w : N) : Prop :=
  mn k <= w /\ w <= mx k /\ N.land w (km k) = kb k /\ allowed (ex k) w.

(** * Bits *)

Lemma split_mask w m : w = N.land w m + N.ldiff w m.
Proof.
  assert (N.land (N.land w m) (N.ldiff w m) = 0) as H.
  { apply N.bits_inj; intro n. rewrite N.bits_0, !N.land_spec, N.ldiff_spec.
    destruct (N.testbit w n), (N.testbit m n); reflexivity. }
  rewrite N.add_nocarry_lxor by exact H.
  apply N.bits_inj; intro n. rewrite N.lxor_spec, N.land_spec, N.ldiff_spec.
  destruct (N.testbit w n), (N.testbit m n); reflexivity.
Qed.

Lemma land_le w m : N.land w m <= w.
Proof. pose proof (split_mask w m). lia. Qed.

Lemma land_ones_id w : w < W -> N.land w ones = w.
Proof. intro H. change ones with (N.ones 32). rewrite N.land_ones. apply N.mod_small. exact H. Qed.

Lemma ldiff_ones_mono w m : w < W -> N.ldiff w m <= N.ldiff ones m.
Proof.
  intro H. rewrite <- (land_ones_id w H).
  replace (N.ldiff (N.land w ones) m) with (N.land (N.ldiff ones m) w). apply land_le.
  apply N.bits_inj; intro n. rewrite !N.ldiff_spec, !N.land_spec, N.ldiff_spec.
  destruct (N.testbit w n), (N.testbit m n), (N.testbit ones n); reflexivity.
Qed.

(** The leading bits on which both ends of an interval agree. *)
Definition prefix (a b : N) : N := N.ldiff ones (N.ones (N.size (N.lxor a b))).

Lemma shiftr_same a b : N.shiftr a (N.size (N.lxor a b)) = N.shiftr b (N.size (N.lxor a b)).
Proof.
  set (s := N.size (N.lxor a b)).
  assert (N.shiftr (N.lxor a b) s = 0) as H.
  { rewrite N.shiftr_div_pow2. apply N.div_small. apply N.size_gt. }
  rewrite N.shiftr_lxor in H. apply N.lxor_eq in H. exact H.
Qed.

Lemma prefix_sound a b w : a <= w -> w <= b -> N.land w (prefix a b) = N.land a (prefix a b).
Proof.
  intros H1 H2. unfold prefix. set (s := N.size (N.lxor a b)).
  assert (N.shiftr w s = N.shiftr a s) as H.
  { pose proof (shiftr_same a b) as E. fold s in E. rewrite !N.shiftr_div_pow2 in *.
    assert (2 ^ s <> 0) by (apply N.pow_nonzero; lia).
    pose proof (N.div_le_mono a w (2 ^ s) ltac:(lia) H1).
    pose proof (N.div_le_mono w b (2 ^ s) ltac:(lia) H2). lia. }
  apply N.bits_inj; intro n. rewrite !N.land_spec, N.ldiff_spec.
  destruct (N.lt_ge_cases n s) as [L|L].
  - rewrite N.ones_spec_low by exact L. rewrite !andb_false_r. reflexivity.
  - assert (N.testbit w n = N.testbit a n) as ->; [|reflexivity].
    assert (n = (n - s) + s) as E by lia. rewrite E.
    rewrite <- !N.shiftr_spec' . rewrite H. reflexivity.
Qed.

(** Two pieces of knowledge about bits do not contradict each other. *)
Definition conflict (m1 b1 m2 b2 : N) : bool := negb (N.land (N.lxor b1 b2) (N.land m1 m2) =? 0).

Lemma conflict_sound w m1 b1 m2 b2 : N.land w m1 = b1 -> N.land w m2 = b2 -> conflict m1 b1 m2 b2 = false.
Proof.
  intros <- <-. unfold conflict. apply negb_false_iff, N.eqb_eq.
  apply N.bits_inj; intro n. rewrite N.bits_0, !N.land_spec, N.lxor_spec, !N.land_spec.
  destruct (N.testbit w n), (N.testbit m1 n), (N.testbit m2 n); reflexivity.
Qed.

Lemma join_bits w m1 b1 m2 b2 : N.land w m1 = b1 -> N.land w m2 = b2 -> N.land w (N.lor m1 m2) = N.lor b1 b2.
Proof. intros <- <-. apply N.land_lor_distr_r. Qed.

Lemma sub_bits w m b m' : N.land w m = b -> N.ldiff m' m = 0 -> N.land w m' = N.land b m'.
Proof.
  intros <- H. apply N.bits_inj; intro n. apply (f_equal (fun z => N.testbit z n)) in H.
  rewrite N.ldiff_spec, N.bits_0 in H. rewrite !N.land_spec.
  destruct (N.testbit w n), (N.testbit m n), (N.testbit m' n); try reflexivity; discriminate.
Qed.

(** Whether words whose bits [m] are [b] are excluded. *)
Definition excluded (e : excl) (m b : N) : bool :=
  existsb (fun e => (N.ldiff (fst e) m =? 0) && has (N.land b (fst e)) (snd e)) e.

Lemma excluded_sound e m b w : allowed e w -> N.land w m = b -> excluded e m b = false.
Proof.
  intros F E. unfold excluded. destruct (existsb _ e) eqn:X; [|reflexivity].
  apply existsb_exists in X. destruct X as [p [I P]]. apply andb_true_iff in P. destruct P as [P Q].
  apply N.eqb_eq in P. unfold allowed in F. rewrite Forall_forall in F. specialize (F p I).
  rewrite (sub_bits w m b _ E P) in F. congruence.
Qed.

Fixpoint exclude (m v : N) (e : excl) : excl :=
  match e with
  | [] => [(m, PositiveSet.add (N.succ_pos v) PositiveSet.empty)]
  | (m', s) :: e => if m' =? m then (m, PositiveSet.add (N.succ_pos v) s) :: e else (m', s) :: exclude m v e
  end.

Lemma succ_pos_inj a b : N.succ_pos a = N.succ_pos b -> a = b.
Proof. intro H. apply (f_equal N.pos) in H. rewrite !N.succ_pos_spec in H. lia. Qed.

Lemma has_add u v s : u <> v -> has u s = false -> has u (PositiveSet.add (N.succ_pos v) s) = false.
Proof.
  unfold has. intros D H. apply not_true_iff_false. rewrite PositiveSet.mem_spec, PositiveSet.add_spec.
  intros [E|E]; [apply D, succ_pos_inj, E|]. apply PositiveSet.mem_spec in E. congruence.
Qed.

Lemma exclude_sound m v e w : allowed e w -> N.land w m <> v -> allowed (exclude m v e) w.
Proof.
  intros A D. induction A as [|[m' s] e H A IH]; cbn [exclude].
  - constructor; [|constructor]. apply has_add; [exact D|reflexivity].
  - cbn [fst snd] in H. destruct (N.eqb_spec m' m) as [->|]; constructor; cbn [fst snd]; auto using has_add.
Qed.

(** The least value above [e] whose leading bits, those of an excluded value that [e] has, differ; or [e]. *)
Definition lowest_bit (m : N) : N := N.log2 (N.ldiff m (m - 1)).
Definition skip_one (e : N) (p : N * PositiveSet.t) : N :=
  let '(m, s) := p in let t := lowest_bit m in
  if has (N.land e m) s && (N.shiftl (N.shiftr m t) t =? m) then N.shiftl (N.shiftr e t + 1) t else e.
Definition skip_excluded (l : excl) (e : N) : N := fold_left skip_one l e.

Lemma skip_one_sound p e w : has (N.land w (fst p)) (snd p) = false -> e <= w -> skip_one e p <= w.
Proof.
  destruct p as [m s]. cbn [fst snd skip_one]. intros H L.
  destruct (has (N.land e m) s && _) eqn:C; [|exact L]. apply andb_true_iff in C. destruct C as [X Y].
  apply N.eqb_eq in Y. set (t := lowest_bit m) in *. clearbody t.
  assert (N.shiftr w t <> N.shiftr e t) as D.
  { intro E. assert (N.land w m = N.land e m) as Q; [|congruence]. rewrite <- Y.
    apply N.bits_inj; intro n. rewrite !N.land_spec.
    destruct (N.lt_ge_cases n t) as [S|S]; [rewrite N.shiftl_spec_low by exact S; rewrite !andb_false_r; reflexivity|].
    f_equal. apply (f_equal (fun z => N.testbit z (n - t))) in E. rewrite !N.shiftr_spec' in E.
    replace (n - t + t) with n in E by lia. exact E. }
  rewrite N.shiftl_mul_pow2. rewrite !N.shiftr_div_pow2 in *.
  assert (2 ^ t <> 0) as P by (apply N.pow_nonzero; lia).
  pose proof (N.div_le_mono e w (2 ^ t) P L) as G. pose proof (N.mul_div_le w (2 ^ t) P) as M.
  assert (e / 2 ^ t + 1 <= w / 2 ^ t) as Z by lia.
  apply (N.mul_le_mono_r _ _ (2 ^ t)) in Z. rewrite N.mul_comm in M. lia.
Qed.
Lemma skip_excluded_sound l e w : allowed l w -> e <= w -> skip_excluded l e <= w.
Proof.
  intro A. revert e. induction A as [|p l H A IH]; intros e L; cbn [skip_excluded fold_left]; [exact L|].
  apply IH, skip_one_sound; assumption.
Qed.

(** * The ends of an interval, so that they have the known bits *)
Lemma bit_differs w e m b f : N.land w m = b -> N.testbit (N.land (N.lxor e b) m) f = true ->
  N.testbit w f = negb (N.testbit e f).
Proof.
  intros <-. rewrite N.land_spec, N.lxor_spec, N.land_spec.
  destruct (N.testbit w f), (N.testbit e f), (N.testbit m f); cbn; congruence.
Qed.
Lemma shifted_differ w e f : N.testbit w f = negb (N.testbit e f) -> N.shiftr w f <> N.shiftr e f.
Proof.
  intros H E. apply (f_equal (fun z => N.testbit z 0)) in E. rewrite !N.shiftr_spec', !N.add_0_l in E.
  rewrite H in E. destruct (N.testbit e f); discriminate.
Qed.
Lemma log2_bit d : d <> 0 -> N.testbit d (N.log2 d) = true.
Proof. intro. apply N.bit_log2. assumption. Qed.

Fixpoint raise (n : nat) (m b e : N) : N :=
  let d := N.land (N.lxor e b) m in
  match n with
  | S n => if d =? 0 then e else let f := N.log2 d in raise n m b ((e / 2 ^ f + 1) * 2 ^ f)
  | O => e
  end.
Lemma raise_sound w m b : N.land w m = b -> forall n e, e <= w -> raise n m b e <= w.
Proof.
  intro H. induction n as [|n IH]; intros e L; cbn [raise]; [exact L|].
  set (d := N.land (N.lxor e b) m). destruct (N.eqb_spec d 0) as [|D]; [exact L|].
  apply IH. set (f := N.log2 d).
  pose proof (shifted_differ _ _ _ (bit_differs _ _ _ _ _ H (log2_bit d D))) as X. fold f in X.
  rewrite !N.shiftr_div_pow2 in X. assert (2 ^ f <> 0) as P by (apply N.pow_nonzero; lia).
  pose proof (N.div_le_mono e w (2 ^ f) P L) as G. pose proof (N.mul_div_le w (2 ^ f) P) as M.
  rewrite N.mul_comm in M. revert X G M. generalize (e / 2 ^ f) (w / 2 ^ f). intros g h X G M.
  assert (g + 1 <= h) as Y by lia.
  apply (N.mul_le_mono_r _ _ (2 ^ f)) in Y. revert Y M. generalize ((g + 1) * 2 ^ f) (h * 2 ^ f). intros. lia.
Qed.
(** [None]: no value. *)
Fixpoint lower (n : nat) (m b e : N) : option N :=
  let d := N.land (N.lxor e b) m in
  match n with
  | S n => if d =? 0 then Some e else
      let f := N.log2 d in let g := e / 2 ^ f in if g =? 0 then None else lower n m b (g * 2 ^ f - 1)
  | O => Some e
  end.
Lemma lower_sound w m b : N.land w m = b -> forall n e, w <= e -> exists e', lower n m b e = Some e' /\ w <= e'.
Proof.
  intro H. induction n as [|n IH]; intros e L; cbn [lower]; [eauto|].
  set (d := N.land (N.lxor e b) m). destruct (N.eqb_spec d 0) as [|D]; [eauto|].
  set (f := N.log2 d).
  pose proof (shifted_differ _ _ _ (bit_differs _ _ _ _ _ H (log2_bit d D))) as X. fold f in X.
  rewrite !N.shiftr_div_pow2 in X. assert (2 ^ f <> 0) as P by (apply N.pow_nonzero; lia).
  pose proof (N.div_le_mono w e (2 ^ f) P L).
  pose proof (N.div_mod w (2 ^ f) P) as E. pose proof (N.mod_lt w (2 ^ f) P) as M.
  revert X H0 E. generalize (e / 2 ^ f) (w / 2 ^ f). intros g h X H0 E.
  destruct (N.eqb_spec g 0) as [Z|Z]; [exfalso; lia|]. apply IH.
  assert (h + 1 <= g) as Y by lia.
  apply (N.mul_le_mono_r _ _ (2 ^ f)) in Y. rewrite N.mul_add_distr_r, N.mul_1_l in Y. rewrite (N.mul_comm _ h) in E.
  revert E M Y. generalize (w mod 2 ^ f) (h * 2 ^ f) (g * 2 ^ f) (2 ^ f). intros. lia.
Qed.

(** * Bits that follow from excluded values *)

Definition is_bit (u : N) : bool := negb (u =? 0) && (u =? 2 ^ N.log2 u).

Lemma bit_cases w u : is_bit u = true -> N.land w u = 0 \/ N.land w u = u.
Proof.
  intro H. apply andb_true_iff in H. destruct H as [_ H]. apply N.eqb_eq in H. rewrite H.
  set (j := N.log2 u).
  destruct (N.testbit w j) eqn:T.
  - right. apply N.bits_inj; intro n. rewrite N.land_spec, N.pow2_bits_eqb.
    destruct (N.eqb_spec j n) as [<-|]; [rewrite T; reflexivity|apply andb_false_r].
  - left. apply N.bits_inj; intro n. rewrite N.land_spec, N.pow2_bits_eqb, N.bits_0.
    destruct (N.eqb_spec j n) as [<-|]; [rewrite T; reflexivity|apply andb_false_r].
Qed.

(** If a single bit of a mask is not known, an excluded value decides it. *)
Definition force_one (k : option (N * N)) (p : N * PositiveSet.t) : option (N * N) :=
  match k with
  | None => None
  | Some (km, kb) =>
    let '(m, s) := p in let u := N.ldiff m km in
    if is_bit u then
      match has (N.land kb m) s, has (N.lor (N.land kb m) u) s with
      | true, true => None
      | true, false => Some (N.lor km u, N.lor kb u)
      | false, true => Some (N.lor km u, kb)
      | false, false => k
      end
    else k
  end.
Definition force (e : excl) (km kb : N) : option (N * N) := fold_left force_one e (Some (km, kb)).

Lemma force_sound e : forall w km kb, allowed e w -> N.land w km = kb ->
  exists km' kb', force e km kb = Some (km', kb') /\ N.land w km' = kb'.
Proof.
  unfold force. induction e as [|[m s] e IH]; intros w km kb A K; cbn [fold_left]; [eauto|].
  inversion_clear A as [|? ? H A']. cbn [fst snd] in H. unfold force_one at 2. set (u := N.ldiff m km).
  destruct (is_bit u) eqn:U; [|apply IH; assumption].
  assert (N.land w m = N.lor (N.land kb m) (N.land w u)) as E.
  { rewrite <- K. unfold u. apply N.bits_inj; intro n. rewrite N.lor_spec, !N.land_spec, N.ldiff_spec.
    destruct (N.testbit w n), (N.testbit m n), (N.testbit km n); reflexivity. }
  destruct (bit_cases w u U) as [X|X]; rewrite X, ?N.lor_0_r in E; rewrite E in H; rewrite H.
  - destruct (has (N.lor (N.land kb m) u) s); apply IH; try assumption. rewrite N.land_lor_distr_r, K, X. apply N.lor_0_r.
  - destruct (has (N.land kb m) s); apply IH; try assumption. rewrite N.land_lor_distr_r, K, X. reflexivity.
Qed.

(** * Tightening *)
Definition tighten1 (k : wk) : option wk :=
  if mx k <? mn k then None else
  let pm := prefix (mn k) (mx k) in
  let pb := N.land (mn k) pm in
  if conflict (km k) (kb k) pm pb then None else
  match force (ex k) (N.lor (km k) pm) (N.lor (kb k) pb) with None => None | Some (km', kb') =>
  let mn' := skip_excluded (ex k) (raise 70 km' kb' (mn k)) in
  match lower 70 km' kb' (mx k) with None => None | Some mx' =>
  if mx' <? mn' then None else
  if excluded (ex k) km' kb' then None
  else Some {| mn := mn'; mx := mx'; km := km'; kb := kb'; ex := ex k |} end end.

Lemma tighten1_sound k w : w < W -> inw k w -> exists k', tighten1 k = Some k' /\ inw k' w.
Proof.
  intros Hw (H1 & H2 & H3 & H4). unfold tighten1.
  destruct (N.ltb_spec (mx k) (mn k)); [lia|].
  pose proof (prefix_sound _ _ _ H1 H2) as P.
  rewrite (conflict_sound w _ _ _ _ H3 P).
  pose proof (join_bits w _ _ _ _ H3 P) as J.
  destruct (force_sound (ex k) w _ _ H4 J) as (km' & kb' & -> & J'). clear J. rename J' into J.
  pose proof (skip_excluded_sound _ _ _ H4 (raise_sound w _ _ J 70 _ H1)) as R. destruct (lower_sound w _ _ J 70 _ H2) as [mx' [-> L]].
  set (mn' := skip_excluded (ex k) (raise 70 km' kb' (mn k))) in *. clearbody mn'.
  destruct (N.ltb_spec mx' mn'); [lia|].
  rewrite (excluded_sound _ _ _ _ H4 J).
  eexists; split; [reflexivity|]. unfold inw; cbn [mn mx km kb ex]. split; [lia|]. split; [lia|]. split; assumption.
Qed.

(** Again, while the interval becomes shorter. *)
Fixpoint tighten_again (n : nat) (k : wk) : option wk :=
  match tighten1 k, n with
  | Some k', S n => if (mn k =? mn k') && (mx k =? mx k') then Some k' else tighten_again n k'
  | o, _ => o
  end.
Definition tighten := tighten_again 4.

Lemma tighten_sound k w : w < W -> inw k w -> exists k', tighten k = Some k' /\ inw k' w.
Proof.
  intro Hw. unfold tighten. generalize 4%nat. intro n. revert k.
  induction n as [|n IH]; intros k I; cbn [tighten_again]; destruct (tighten1_sound k w Hw I) as [k' [-> I']];
    [eauto|]. destruct (_ && _); [eauto|apply IH, I'].
Qed.

(** * Atoms: comparisons of one word *)
Definition dec_ge (k : wk) (v : N) : option bool :=
  if v <=? mn k then Some true else if mx k <? v then Some false else None.

Lemma dec_ge_sound k v w b : inw k w -> dec_ge k v = Some b -> (v <=? w) = b.
Proof.
  intros (H1 & H2 & _). unfold dec_ge.
  destruct (N.leb_spec v (mn k)); [intros [= <-]; apply N.leb_le; lia|].
  destruct (N.ltb_spec (mx k) v); [intros [= <-]; apply N.leb_gt; lia|discriminate].
Qed.

Definition dec_eq (k : wk) (m v : N) : option bool :=
  if negb (N.ldiff v m =? 0) then Some false else
  if conflict (km k) (kb k) m v then Some false else
  if N.ldiff m (km k) =? 0 then Some true else
  let m' := N.lor (km k) m in
  let v' := N.lor (kb k) v in
  if excluded (ex k) m' v' then Some false else
  if (mx k <? v') || (v' + N.ldiff ones m' <? mn k) then Some false else None.

Lemma dec_eq_sound k m v w b : w < W -> inw k w -> dec_eq k m v = Some b -> (N.land w m =? v) = b.
Proof.
  intros Hw (H1 & H2 & H3 & H4). unfold dec_eq.
  destruct (N.eqb_spec (N.ldiff v m) 0) as [D|D]; cbn [negb].
  2: { intros [= <-]. apply N.eqb_neq. intros <-. apply D.
       apply N.bits_inj; intro n. rewrite N.bits_0, N.ldiff_spec, N.land_spec.
       destruct (N.testbit w n), (N.testbit m n); reflexivity. }
  destruct (N.eqb_spec (N.land w m) v) as [E|E].
  - rewrite (conflict_sound w _ _ _ _ H3 E).
    destruct (N.ldiff m (km k) =? 0); [congruence|].
    pose proof (join_bits w _ _ _ _ H3 E) as J.
    rewrite (excluded_sound _ _ _ _ H4 J).
    set (m' := N.lor (km k) m) in *. set (v' := N.lor (kb k) v) in *.
    assert (v' <= w) by (rewrite <- J; apply land_le).
    pose proof (split_mask w m'). pose proof (ldiff_ones_mono w m' Hw).
    destruct (N.ltb_spec (mx k) v'); [lia|].
    destruct (N.ltb_spec (v' + N.ldiff ones m') (mn k)); [lia|]. discriminate.
  - destruct (conflict (km k) (kb k) m v) eqn:C; [congruence|].
    destruct (N.eqb_spec (N.ldiff m (km k)) 0) as [Z|Z].
    + exfalso. apply E. rewrite (sub_bits w _ _ _ H3 Z).
      unfold conflict in C. apply negb_false_iff, N.eqb_eq in C.
      apply N.bits_inj; intro n.
      apply (f_equal (fun z => N.testbit z n)) in C, D, Z.
      rewrite N.bits_0 in *. rewrite !N.land_spec, N.lxor_spec in C. rewrite N.ldiff_spec in D, Z. rewrite N.land_spec.
      destruct (N.testbit v n), (N.testbit m n), (N.testbit (km k) n), (N.testbit (kb k) n); try reflexivity; discriminate.
    + destruct (excluded _ _ _); [congruence|]. destruct (_ || _); congruence.
Qed.

Definition learn_ge (k : wk) (v : N) (b : bool) : option wk :=
  if b then tighten {| mn := N.max (mn k) v; mx := mx k; km := km k; kb := kb k; ex := ex k |}
  else if v =? 0 then None
  else tighten {| mn := mn k; mx := N.min (mx k) (v - 1); km := km k; kb := kb k; ex := ex k |}.

Lemma learn_ge_sound k v w : w < W -> inw k w -> exists k', learn_ge k v (v <=? w) = Some k' /\ inw k' w.
Proof.
  intros Hw (H1 & H2 & H3 & H4). unfold learn_ge. destruct (N.leb_spec v w).
  - apply tighten_sound; [exact Hw|]. unfold inw; cbn [mn mx km kb ex]. split; [lia|]. split; [lia|]. split; assumption.
  - destruct (N.eqb_spec v 0); [lia|].
    apply tighten_sound; [exact Hw|]. unfold inw; cbn [mn mx km kb ex]. split; [lia|]. split; [lia|]. split; assumption.
Qed.

Definition know_bits (k : wk) (m v : N) : option wk :=
  if conflict (km k) (kb k) m v then None
  else tighten {| mn := mn k; mx := mx k; km := N.lor (km k) m; kb := N.lor (kb k) v; ex := ex k |}.

Lemma know_bits_sound k m v w :
  w < W -> inw k w -> N.land w m = v -> exists k', know_bits k m v = Some k' /\ inw k' w.
Proof.
  intros Hw (H1 & H2 & H3 & H4) E. unfold know_bits. rewrite (conflict_sound w _ _ _ _ H3 E).
  apply tighten_sound; [exact Hw|]. unfold inw; cbn [mn mx km kb ex]. split; [assumption|]. split; [assumption|]. split; [apply join_bits; assumption|assumption].
Qed.

Definition learn_eq (k : wk) (m v : N) (b : bool) : option wk :=
  if b then know_bits k m v
  else
    let u := N.ldiff m (km k) in
    if is_bit u && (N.ldiff v m =? 0) && negb (conflict (km k) (kb k) m v)
    then know_bits k u (N.lxor (N.land v u) u)
    else tighten {| mn := mn k; mx := mx k; km := km k; kb := kb k; ex := exclude m v (ex k) |}.

Lemma learn_eq_sound k m v w :
  w < W -> inw k w -> exists k', learn_eq k m v (N.land w m =? v) = Some k' /\ inw k' w.
Proof.
  intros Hw I. unfold learn_eq. destruct (N.eqb_spec (N.land w m) v) as [E|E].
  - apply know_bits_sound; assumption.
  - destruct (is_bit _ && _ && _) eqn:B.
    + apply andb_true_iff in B. destruct B as [B C]. apply andb_true_iff in B. destruct B as [B D].
      apply know_bits_sound; [assumption..|].
      set (u := N.ldiff m (km k)) in *.
      assert (N.land w u <> N.land v u) as NE.
      { intro F. apply E. destruct I as (_ & _ & H3 & _).
        apply negb_true_iff in C. unfold conflict in C. apply negb_false_iff, N.eqb_eq in C. apply N.eqb_eq in D.
        unfold u in F. clear u B E.
        apply N.bits_inj; intro n. apply (f_equal (fun z => N.testbit z n)) in C, D, F, H3.
        rewrite N.bits_0 in *. rewrite !N.land_spec, N.lxor_spec in C. rewrite N.ldiff_spec in D.
        rewrite !N.land_spec, N.ldiff_spec in F. rewrite N.land_spec in H3. rewrite N.land_spec.
        destruct (N.testbit v n), (N.testbit m n), (N.testbit (km k) n), (N.testbit (kb k) n), (N.testbit w n);
          cbn [andb xorb negb] in *; congruence. }
      destruct (bit_cases w u B) as [X|X], (bit_cases v u B) as [Y|Y]; rewrite X, Y in *; try congruence.
      * rewrite N.lxor_nilpotent. reflexivity.
      * rewrite N.lxor_0_l. reflexivity.
    + destruct I as (H1 & H2 & H3 & H4).
      apply tighten_sound; [exact Hw|]. unfold inw; cbn [mn mx km kb ex]. split; [assumption|]. split; [assumption|]. split; [assumption|apply exclude_sound; assumption].
Qed.

