(** Tests: which are decided by what is known, and what their results add to it. *)
From Coq Require Import NArith List Bool Lia.
From Callgate Require Import Spec Know View.
Import ListNotations.
Open Scope N_scope.

(** * Atoms: tests of a single word *)

(** [AGe i v p] is [p] exactly if [v <= word]; [AEq i m v p] if [word & m = v]. [ARaw]: the test is none of these. *)
Inductive atom := AC (b : bool) | AGe (i : nat) (v : N) (p : bool) | AEq (i : nat) (m v : N) (p : bool) | ARaw.
Definition atom_val (d : data) (t : atom) (b : bool) : Prop :=
  match t with
  | AC c => b = c
  | AGe i v p => b = Bool.eqb p (v <=? d i)
  | AEq i m v p => b = Bool.eqb p (N.land (d i) m =? v)
  | ARaw => True
  end.
Definition not_atom (t : atom) : atom :=
  match t with
  | AC b => AC (negb b) | AGe i v p => AGe i v (negb p) | AEq i m v p => AEq i m v (negb p) | ARaw => ARaw
  end.

(** A sum is ordered as its word is, unless it overflows for some values of the word and not for others. *)
Definition ge_atom (K : know) (v : view) (n : N) : atom :=
  match linear K v with
  | VL i c =>
    if mx (word K i) + c <? W then AGe i (n - c) true
    else if W <=? mn (word K i) + c then AGe i (n + W - c) true
    else ARaw
  | _ => ARaw
  end.
Definition atom_of (K : know) (r : rel) (v : view) (n : N) : atom :=
  match r, v with
  | _, VC m => AC (rel_val r m n)
  | Eq, VM i m k s => AEq i (N.shiftl (N.shiftr m s) s) (N.lxor (N.shiftl n s) (N.shiftl (N.shiftr k s) s)) true
  | Share, VM i m k s => AEq i (N.land m (N.shiftl n s)) (N.land k (N.shiftl n s)) false
  | Eq, VL i c => if n <? W then AEq i ones ((n + (W - c)) mod W) true else ARaw
  | Ge, _ => ge_atom K v n
  | Gt, _ => ge_atom K v (n + 1)
  | _, _ => ARaw
  end.
Definition norm (K : know) (t : tst) : atom :=
  let '(r, a, b) := t in
  match see K a, see K b with
  | v, VC n => atom_of K r v n
  | VC n, v => match r with
    | Eq | Share => atom_of K r v n | Gt => not_atom (atom_of K Ge v n) | Ge => not_atom (atom_of K Gt v n) end
  | _, _ => ARaw
  end.

Lemma negb_eqb_l p b : negb (Bool.eqb p b) = Bool.eqb (negb p) b.
Proof. destruct p, b; reflexivity. Qed.

Lemma not_atom_sound d t b : atom_val d t b -> atom_val d (not_atom t) (negb b).
Proof.
  destruct t as [c|i v p|i m v p|]; cbn [atom_val not_atom]; intro H; rewrite ?H; auto; apply negb_eqb_l.
Qed.

Lemma ge_atom_sound K d v a n : wf d -> sat K d -> view_val d v a -> atom_val d (ge_atom K v n) (n <=? a).
Proof.
  intros Hd S V. apply (linear_sound K) in V; [|assumption..]. unfold ge_atom.
  destruct (linear K v) as [| |i c|]; try exact I. cbn [view_val] in V. destruct V as [L ->].
  destruct S as [S _]. destruct (S i) as (H1 & H2 & _). pose proof (Hd i) as Hi.
  destruct (N.ltb_spec (mx (word K i) + c) W) as [X|X]; [|destruct (N.leb_spec W (mn (word K i) + c)) as [Y|Y]; [|exact I]];
    cbn [atom_val Bool.eqb].
  - rewrite N.mod_small by lia. destruct (N.leb_spec n (d i + c)), (N.leb_spec (n - c) (d i)); try reflexivity; lia.
  - replace (d i + c) with ((d i + c - W) + 1 * W) by lia. rewrite N.mod_add by discriminate.
    rewrite N.mod_small by lia.
    destruct (N.leb_spec n (d i + c - W)), (N.leb_spec (n + W - c) (d i)); try reflexivity; lia.
Qed.

Lemma eqb_iff a b c e : (a = b <-> c = e) -> (a =? b) = (c =? e).
Proof. intro H. destruct (N.eqb_spec a b), (N.eqb_spec c e); tauto. Qed.

Lemma shifted_eq w m k s n :
  N.shiftr (N.lxor (N.land w m) k) s = n <->
  N.land w (N.shiftl (N.shiftr m s) s) = N.lxor (N.shiftl n s) (N.shiftl (N.shiftr k s) s).
Proof.
  split; intro H.
  - rewrite <- H. bits z.
    destruct (N.lt_ge_cases z s) as [L|L].
    + rewrite !N.shiftl_spec_low by exact L. rewrite andb_false_r. reflexivity.
    + rewrite !N.shiftl_spec_high' by exact L. rewrite !N.shiftr_spec', N.lxor_spec, N.land_spec, !N.sub_add by exact L.
      destruct (N.testbit w z), (N.testbit m z), (N.testbit k z); reflexivity.
  - bits z. apply (f_equal (fun x => N.testbit x (z + s))) in H. rewrite N.land_spec, N.lxor_spec in H.
    rewrite !N.shiftl_spec_high' in H by lia. rewrite !N.shiftr_spec', N.add_sub in H.
    destruct (N.testbit w (z + s)), (N.testbit m (z + s)), (N.testbit k (z + s)), (N.testbit n z);
      cbn in *; congruence.
Qed.

Lemma shifted_share w m k s n :
  N.land (N.shiftr (N.lxor (N.land w m) k) s) n = 0 <->
  N.land w (N.land m (N.shiftl n s)) = N.land k (N.shiftl n s).
Proof.
  split; intro H.
  - bits z. destruct (N.lt_ge_cases z s) as [L|L].
    + rewrite !N.shiftl_spec_low by exact L. rewrite !andb_false_r. reflexivity.
    + rewrite !N.shiftl_spec_high' by exact L. apply (f_equal (fun x => N.testbit x (z - s))) in H.
      rewrite N.bits_0, N.land_spec, N.shiftr_spec', N.lxor_spec, N.land_spec, N.sub_add in H by exact L.
      destruct (N.testbit w z), (N.testbit m z), (N.testbit k z), (N.testbit n (z - s)); cbn in *; congruence.
  - bits z. rewrite N.bits_0. apply (f_equal (fun x => N.testbit x (z + s))) in H. rewrite !N.land_spec in H.
    rewrite !N.shiftl_spec_high' in H by lia. rewrite N.add_sub in H.
    destruct (N.testbit w (z + s)), (N.testbit m (z + s)), (N.testbit k (z + s)), (N.testbit n z);
      cbn in *; congruence.
Qed.

Lemma sum_eq w c n : w < W -> c < W -> n < W -> ((w + c) mod W = n <-> w = (n + (W - c)) mod W).
Proof.
  intros Hw Hc Hn.
  assert ((w + c) mod W = if w + c <? W then w + c else w + c - W) as ->.
  { destruct (N.ltb_spec (w + c) W); [apply N.mod_small; assumption|].
    replace (w + c) with (w + c - W + 1 * W) at 1 by lia. rewrite N.mod_add by discriminate. apply N.mod_small. lia. }
  assert ((n + (W - c)) mod W = if n + (W - c) <? W then n + (W - c) else n + (W - c) - W) as ->.
  { destruct (N.ltb_spec (n + (W - c)) W); [apply N.mod_small; assumption|].
    replace (n + (W - c)) with (n + (W - c) - W + 1 * W) at 1 by lia. rewrite N.mod_add by discriminate. apply N.mod_small. lia. }
  destruct (N.ltb_spec (w + c) W), (N.ltb_spec (n + (W - c)) W); lia.
Qed.

Lemma atom_of_sound K d r v a n : wf d -> sat K d -> view_val d v a -> atom_val d (atom_of K r v n) (rel_val r a n).
Proof.
  intros Hd S V. pose proof (ge_atom_sound K d v a n Hd S V) as G. pose proof (ge_atom_sound K d v a (n + 1) Hd S V) as G1.
  replace (n + 1 <=? a) with (n <? a) in G1 by (destruct (N.leb_spec (n + 1) a), (N.ltb_spec n a); (reflexivity || lia)).
  destruct r, v as [m|i m k s|i c|]; try exact I; try assumption; cbn [view_val] in V; cbn [atom_of];
    try (rewrite V; reflexivity).
  - subst a. cbn [atom_val rel_val Bool.eqb]. destruct (N.land _ _ =? _) eqn:E; rewrite <- E; apply eqb_iff, shifted_eq.
  - destruct V as [L ->]. destruct (N.ltb_spec n W) as [X|]; [|exact I]. cbn [atom_val rel_val].
    rewrite land_ones_id by apply Hd. destruct (d i =? _) eqn:E; cbn [Bool.eqb]; rewrite <- E;
      apply eqb_iff, sum_eq; auto; apply Hd.
  - subst a. cbn [atom_val rel_val]. rewrite (eqb_iff _ _ _ _ (shifted_share (d i) m k s n)).
    destruct (_ =? _); reflexivity.
Qed.

Lemma norm_sound K d t : wf d -> sat K d -> atom_val d (norm K t) (holds d t).
Proof.
  intros Hd S. destruct t as [[r a] b]. unfold norm, holds.
  pose proof (see_sound K d a Hd S) as Ha. pose proof (see_sound K d b Hd S) as Hb.
  assert (forall n, ev d b = n -> atom_val d (atom_of K r (see K a) n) (rel_val r (ev d a) (ev d b))) as R.
  { intros n ->. apply atom_of_sound; assumption. }
  assert (forall n, ev d a = n -> atom_val d (match r with
    | Eq | Share => atom_of K r (see K b) n | Gt => not_atom (atom_of K Ge (see K b) n)
    | Ge => not_atom (atom_of K Gt (see K b) n) end) (rel_val r (ev d a) (ev d b))) as L.
  { intros n <-. pose proof (fun r => atom_of_sound K d r (see K b) (ev d b) (ev d a) Hd S Hb) as A.
    destruct r; cbn [rel_val].
    - specialize (A Eq). cbn [rel_val] in A. rewrite N.eqb_sym. exact A.
    - specialize (A Ge). cbn [rel_val] in A. rewrite N.ltb_antisym. apply not_atom_sound, A.
    - specialize (A Gt). cbn [rel_val] in A. rewrite N.leb_antisym. apply not_atom_sound, A.
    - specialize (A Share). cbn [rel_val] in A. rewrite N.land_comm. exact A. }
  destruct (see K a) as [m|i m k s|i c|], (see K b) as [n|j n k' s'|j n|]; try exact I; cbn [view_val] in Ha, Hb; auto.
Qed.

(** * Bounds: order tests of some bits of a word *)

Definition bounds (K : know) (v : view) : option (N * N) :=
  match v with
  | VM i m k s =>
    let u := N.ldiff m (km (word K i)) in
    let lo := N.ldiff (N.lxor (N.land (kb (word K i)) m) k) u in
    Some (N.shiftr lo s, N.shiftr (lo + u) s)
  | _ => None
  end.
Definition decide_bounds (K : know) (t : tst) : option bool :=
  let '(r, a, b) := t in
  match bounds K (see K a), see K b with
  | Some (lo, hi), VC n =>
    match r with
    | Ge => if n <=? lo then Some true else if hi <? n then Some false else None
    | Gt => if n <? lo then Some true else if hi <=? n then Some false else None
    | _ => None
    end
  | _, _ => None
  end.

Lemma bounds_sound K d v n lo hi : wf d -> sat K d -> view_val d v n -> bounds K v = Some (lo, hi) -> lo <= n /\ n <= hi.
Proof.
  intros Hd [S _]. destruct v as [|i m k s| |]; try discriminate. cbn [view_val bounds]. intros -> E.
  injection E as <- <-. destruct (S i) as (_ & _ & H & _).
  set (x := N.lxor (N.land (d i) m) k). set (u := N.ldiff m (km (word K i))).
  replace (N.ldiff (N.lxor (N.land (kb (word K i)) m) k) u) with (N.ldiff x u).
  2: { rewrite <- H. unfold x, u. bits z.
       destruct (N.testbit (d i) z), (N.testbit m z), (N.testbit k z), (N.testbit (km (word K i)) z); reflexivity. }
  pose proof (split_mask x u) as X. pose proof (land_le u x) as Y. rewrite N.land_comm in Y.
  rewrite !N.shiftr_div_pow2. assert (2 ^ s <> 0) by (apply N.pow_nonzero; discriminate).
  split; apply N.div_le_mono; lia.
Qed.

Lemma decide_bounds_sound K d t b : wf d -> sat K d -> decide_bounds K t = Some b -> holds d t = b.
Proof.
  intros Hd S. destruct t as [[r x] y]. unfold decide_bounds, holds.
  pose proof (see_sound K d x Hd S) as Hx. pose proof (see_sound K d y Hd S) as Hy.
  destruct (bounds K (see K x)) as [[lo hi]|] eqn:E; [|discriminate].
  destruct (see K y) as [n| | |]; try discriminate. cbn [view_val] in Hy. rewrite Hy.
  destruct (bounds_sound K d _ _ lo hi Hd S Hx E) as [L H].
  destruct r; try discriminate; cbn [rel_val].
  - destruct (N.ltb_spec n lo); [intro Q; apply some_inj in Q; subst b; apply N.ltb_lt; lia|].
    destruct (N.leb_spec hi n); [|discriminate]. intro Q; apply some_inj in Q; subst b. apply N.ltb_ge; lia.
  - destruct (N.leb_spec n lo); [intro Q; apply some_inj in Q; subst b; apply N.leb_le; lia|].
    destruct (N.ltb_spec hi n); [|discriminate]. intro Q; apply some_inj in Q; subst b. apply N.leb_gt; lia.
Qed.

(** * Facts: tests that compare several words with each other *)

Definition orders := [Datatypes.Lt; Datatypes.Eq; Datatypes.Gt].
Definition in_rel (r : rel) (c : comparison) : bool :=
  match r, c with
  | Eq, Datatypes.Eq | Gt, Datatypes.Gt | Ge, (Datatypes.Eq | Datatypes.Gt) => true
  | _, _ => false
  end.
(** Whether the facts permit that [a] and [b] have this order. *)
Definition permits (a b : sexp) (c : comparison) (f : tst * bool) : bool :=
  let '((r, x, y), v) := f in
  match r with
  | Share => true
  | _ =>
    if same x a && same y b then Bool.eqb (in_rel r c) v
    else if same x b && same y a then Bool.eqb (in_rel r (CompOpp c)) v
    else true
  end.
Definition permitted (K : know) (a b : sexp) (c : comparison) : bool :=
  (match c with Datatypes.Eq => true | _ => negb (same a b) end) && forallb (permits a b c) (facts K).
Definition decide_facts (K : know) (t : tst) : option bool :=
  let '(r, a, b) := t in
  match r with
  | Share =>
    match find (fun f => let '((r, x, y), _) := f in
      match r with Share => (same x a && same y b) || (same x b && same y a) | _ => false end) (facts K) with
    | Some (_, v) => Some v
    | None => None
    end
  | _ =>
    let left := List.filter (permitted K a b) orders in
    if forallb (in_rel r) left then Some true
    else if forallb (fun c => negb (in_rel r c)) left then Some false
    else None
  end.

Lemma in_rel_sound r a b : r <> Share -> rel_val r a b = in_rel r (a ?= b).
Proof.
  intro H. destruct r; try congruence; cbn [rel_val]; unfold N.eqb, N.ltb, N.leb;
    rewrite ?(N.compare_antisym a b); destruct (N.compare_spec a b); cbn [in_rel CompOpp]; try reflexivity.
  - subst. apply N.eqb_refl.
  - apply N.eqb_neq. lia.
  - apply N.eqb_neq. lia.
Qed.

Lemma permitted_sound K d a b : sat K d -> permitted K a b (ev d a ?= ev d b) = true.
Proof.
  intros [_ F]. unfold permitted. apply andb_true_iff. split.
  - destruct (same a b) eqn:E; [|destruct (_ ?= _); reflexivity].
    rewrite (same_sound d _ _ E), N.compare_refl. reflexivity.
  - apply forallb_forall. intros [[[r x] y] v] I. rewrite Forall_forall in F. specialize (F _ I). cbn [fst snd holds] in F.
    unfold permits. destruct r; try reflexivity; rewrite in_rel_sound in F by discriminate;
      (destruct (same x a && same y b) eqn:E; [|destruct (same x b && same y a) eqn:E']; try reflexivity;
       [apply andb_true_iff in E; destruct E as [E1 E2]; rewrite <- (same_sound d _ _ E1), <- (same_sound d _ _ E2);
        rewrite F; apply Bool.eqb_reflx
       |apply andb_true_iff in E'; destruct E' as [E1 E2]; rewrite <- (same_sound d _ _ E1), <- (same_sound d _ _ E2);
        rewrite <- N.compare_antisym, F; apply Bool.eqb_reflx]).
Qed.

Lemma decide_facts_sound K d t b : sat K d -> decide_facts K t = Some b -> holds d t = b.
Proof.
  intro S. destruct t as [[r x] y]. cbn [decide_facts holds].
  assert (r <> Share -> (let left := List.filter (permitted K x y) orders in
    if forallb (in_rel r) left then Some true
    else if forallb (fun c => negb (in_rel r c)) left then Some false else None) = Some b ->
    rel_val r (ev d x) (ev d y) = b) as O.
  { intros N. rewrite in_rel_sound by exact N. cbn zeta. set (c := ev d x ?= ev d y).
    assert (In c (List.filter (permitted K x y) orders)) as I.
    { apply List.filter_In. split; [unfold orders; destruct c; cbn; auto|apply permitted_sound, S]. }
    destruct (forallb (in_rel r) _) eqn:A; [|destruct (forallb (fun _ => _) _) eqn:A'; [|discriminate]];
      intro E; apply some_inj in E; subst b.
    - rewrite forallb_forall in A. exact (A c I).
    - rewrite forallb_forall in A'. apply negb_true_iff. exact (A' c I). }
  destruct r; try (apply O; discriminate). clear O.
  destruct (find _ _) as [[[[r a] e] v]|] eqn:E; [|discriminate]. intro Q; apply some_inj in Q; subst b.
  apply find_some in E. destruct E as [I E]. destruct r; try discriminate.
  destruct S as [_ F]. rewrite Forall_forall in F. specialize (F _ I). cbn [fst snd holds rel_val] in *. rewrite <- F.
  apply orb_true_iff in E. destruct E as [E|E]; apply andb_true_iff in E; destruct E as [E1 E2];
    rewrite (same_sound d _ _ E1), (same_sound d _ _ E2); [|rewrite N.land_comm]; reflexivity.
Qed.

(** * Both *)

Definition decide (K : know) (t : tst) : option bool :=
  match norm K t with
  | AC b => Some b
  | AGe i v p => option_map (Bool.eqb p) (dec_ge (word K i) v)
  | AEq i m v p => option_map (Bool.eqb p) (dec_eq (word K i) m v)
  | ARaw => match decide_bounds K t with Some b => Some b | None => decide_facts K t end
  end.
(** What is known if a test has this result; [None]: it cannot. *)
Definition learn (K : know) (t : tst) (b : bool) : option know :=
  let put i o := match o with Some k => Some (Knowing (upd (words K) i k) (facts K)) | None => None end in
  match norm K t with
  | AC c => if Bool.eqb b c then Some K else None
  | AGe i v p => put i (learn_ge (word K i) v (Bool.eqb p b))
  | AEq i m v p => put i (learn_eq (word K i) m v (Bool.eqb p b))
  | ARaw => Some (Knowing (words K) ((t, b) :: facts K))
  end.

Lemma decide_sound K d t b : wf d -> sat K d -> decide K t = Some b -> holds d t = b.
Proof.
  intros Hd S. unfold decide. pose proof (norm_sound K d t Hd S) as H. pose proof (proj1 S) as Sw.
  destruct (norm K t) as [c|i v p|i m v p|]; cbn [atom_val] in H; rewrite ?H.
  - apply some_inj.
  - destruct (dec_ge (word K i) v) eqn:D; [|discriminate]. intro E; apply some_inj in E; subst b.
    rewrite (dec_ge_sound _ _ _ _ (Sw i) D). reflexivity.
  - destruct (dec_eq (word K i) m v) eqn:D; [|discriminate]. intro E; apply some_inj in E; subst b.
    rewrite (dec_eq_sound _ _ _ _ _ (Hd i) (Sw i) D). reflexivity.
  - destruct (decide_bounds K t) eqn:D; [|apply decide_facts_sound, S].
    intro E; apply some_inj in E; subst b. exact (decide_bounds_sound _ _ _ _ Hd S D).
Qed.

Lemma learn_sound K d t : wf d -> sat K d -> exists K', learn K t (holds d t) = Some K' /\ sat K' d.
Proof.
  intros Hd S. unfold learn. pose proof (norm_sound K d t Hd S) as H. pose proof (proj1 S) as Sw.
  destruct (norm K t) as [c|i v p|i m v p|]; cbn [atom_val] in H.
  - rewrite H. exists K. rewrite Bool.eqb_reflx. auto.
  - rewrite H. replace (Bool.eqb p (Bool.eqb p (v <=? d i))) with (v <=? d i) by (destruct p, (v <=? d i); reflexivity).
    destruct (learn_ge_sound _ v _ (Hd i) (Sw i)) as [k [-> I]]. eexists; split; [reflexivity|]. apply upd_sound; assumption.
  - rewrite H. replace (Bool.eqb p (Bool.eqb p (N.land (d i) m =? v))) with (N.land (d i) m =? v)
      by (destruct p, (N.land (d i) m =? v); reflexivity).
    destruct (learn_eq_sound _ m v _ (Hd i) (Sw i)) as [k [-> I]]. eexists; split; [reflexivity|]. apply upd_sound; assumption.
  - eexists; split; [reflexivity|]. split; [exact Sw|]. constructor; [reflexivity|apply S].
Qed.

(** * Splits

    Both results of a test are followed if it is not decided. Every test will do, so what follows needs no proof. It chooses
    one whose results are knowledge about a word, so that the undecided test will be decided after some splits. *)

Definition high_bit (n : N) : N := 2 ^ N.log2 n.
(** Whether words of an expression are unknown: none, one, or several. *)
Inductive unknown := NoWord | OneWord (i : nat) | Several.
Fixpoint unknown_of (K : know) (e : sexp) : unknown :=
  match e with
  | C _ => NoWord
  | Wd i => if mn (word K i) =? mx (word K i) then NoWord else OneWord i
  | B _ _ a b =>
    match unknown_of K a, unknown_of K b with
    | NoWord, u | u, NoWord => u
    | OneWord i, OneWord j => if Nat.eqb i j then OneWord i else Several
    | _, _ => Several
    end
  end.
Definition halve (K : know) (i : nat) : tst :=
  let k := word K i in
  let h := N.size (N.lxor (mn k) (mx k)) - 1 in
  (Ge, Wd i, C (N.shiftl (N.shiftr (mx k) h) h)).
Definition test_bit (i : nat) (u v : N) : tst := (Eq, mkB And (Wd i) (C u), C (N.land v u)).
(** An unknown bit on which an expression depends; of a whole word, the half in which it is. *)
Fixpoint part_of (K : know) (e : sexp) (m : N) : option tst :=
  match e with
  | C _ => None
  | Wd i =>
    if mn (word K i) =? mx (word K i) then None
    else if m =? ones then Some (halve K i)
    else let u := N.ldiff m (km (word K i)) in if u =? 0 then None else Some (test_bit i (high_bit u) 0)
  | B _ And a (C n) => part_of K a (N.land m n)
  | B _ Lsh a (C n) => part_of K a (N.shiftr m (N.land n 31))
  | B _ Rsh a (C n) => part_of K a (N.land ones (N.shiftl m (N.land n 31)))
  | B _ _ a b => match part_of K a ones with Some t => Some t | None => part_of K b ones end
  end.
Definition choose (K : know) (t : tst) : tst :=
  let '(r, a, b) := t in
  match norm K t with
  | ARaw =>
    match see K a, see K b with
    | VL i c, VC n | VC n, VL i c => (Ge, Wd i, C (W - c))
    | VM i m k s, VC n | VC n, VM i m k s =>
      let u := N.ldiff m (km (word K i)) in
      if u =? 0 then t else test_bit i (high_bit u) (N.lxor (N.shiftl n s) k)
    | _, _ =>
      match unknown_of K (B 0 Xor a b) with
      | Several => t
      | _ => match part_of K a ones with Some t => t | None => match part_of K b ones with Some t => t | None => t end end
      end
    end
  | _ => t
  end.
