(** What a policy returns, given what is known of the input; or a test on which that depends. *)
From Coq Require Import NArith List Bool Lia.
From Callgate Require Import Spec Know View Decide.
Import ListNotations.
Open Scope N_scope.

(** * Formulas over tests of words *)

Inductive form := FB (b : bool) | FT (t : tst) | FAnd (a b : form) | FOr (a b : form) | FNot (a : form).
Fixpoint fval (d : data) (f : form) : bool :=
  match f with
  | FB b => b | FT t => holds d t | FAnd a b => fval d a && fval d b | FOr a b => fval d a || fval d b | FNot a => negb (fval d a)
  end.

(** [a = 0], [a & b <> 0] and other relations, taken apart where the values are combined from several words. *)
Fixpoint zero (a : sexp) : form :=
  match a with
  | B _ Or a b => FAnd (zero a) (zero b)
  | B _ And a b => FNot (FT (Share, a, b))
  | B _ Xor a b => FT (Eq, a, b)
  | _ => FT (Eq, a, C 0)
  end.
Fixpoint shares (a b : sexp) : form :=
  match a with B _ Or x y => FOr (shares x b) (shares y b) | _ => FT (Share, a, b) end.
Definition formula (r : rel) (a b : sexp) : form :=
  match r, b with
  | Eq, C 0 => zero a
  | Gt, C 0 => FNot (zero a)
  | Share, _ => shares a b
  | _, _ => FT (r, a, b)
  end.

Lemma lor_zero a b : (N.lor a b =? 0) = (a =? 0) && (b =? 0).
Proof.
  pose proof (N.lor_eq_0_iff a b). destruct (N.eqb_spec (N.lor a b) 0), (N.eqb_spec a 0), (N.eqb_spec b 0); cbn; tauto.
Qed.
Lemma zero_sound d a : fval d (zero a) = (ev d a =? 0).
Proof.
  induction a as [n|i|s o a IHa b IHb]; try reflexivity. destruct o; try reflexivity; cbn [zero fval holds ev rel_val alu_val].
  - rewrite IHa, IHb. symmetry. apply lor_zero.
  - apply negb_involutive.
  - apply eqb_iff. symmetry. apply N.lxor_eq_0_iff.
Qed.
Lemma shares_sound d a b : fval d (shares a b) = rel_val Share (ev d a) (ev d b).
Proof.
  induction a as [n|i|s o x IHx y IHy]; try reflexivity. destruct o; try reflexivity.
  cbn [shares fval ev alu_val]. rewrite IHx, IHy. cbn [rel_val].
  rewrite (N.land_comm (N.lor _ _)), N.land_lor_distr_r, lor_zero, negb_andb, !(N.land_comm (ev d b)). reflexivity.
Qed.
Lemma formula_sound d r a b : fval d (formula r a b) = rel_val r (ev d a) (ev d b).
Proof.
  destruct r; try reflexivity; [| |apply shares_sound]; destruct b as [[|n]| |]; try reflexivity;
    cbn [formula fval]; rewrite zero_sound; cbn [ev rel_val].
  - reflexivity.
  - destruct (N.eqb_spec (ev d a) 0), (N.ltb_spec 0 (ev d a)); try reflexivity; lia.
Qed.

(** * Tests of policies: numbers of 64 bits as two words *)

Definition halves := (sexp * sexp)%type.
Definition halves_of (x : operand) : halves :=
  match x with Const n => (C (n mod W), C (n / W)) | Wide low high => (Wd low, Wd high) | Low low => (Wd low, C 0) end.
Definition and_halves (a b : halves) : halves := (mkB And (fst a) (fst b), mkB And (snd a) (snd b)).
Definition compare (r : rel) (a b : halves) : form :=
  let high r := formula r (snd a) (snd b) in
  match r with
  | Eq => FAnd (high Eq) (formula Eq (fst a) (fst b))
  | _ => FOr (high Gt) (FAnd (high Eq) (formula r (fst a) (fst b)))
  end.
(** The opposite, as alternatives that exclude each other. *)
Definition compare_not (r : rel) (a b : halves) : form :=
  let high r := formula r (snd a) (snd b) in
  FOr (FNot (high (match r with Eq => Eq | _ => Ge end))) (FAnd (high Eq) (FNot (formula r (fst a) (fst b)))).
Definition test_form (t : test) : form :=
  let a := fold_left (fun a m => and_halves a (halves_of m)) (masks t) (halves_of (left t)) in
  let b := halves_of (right t) in
  match op t with
  | CEq => compare Eq a b | CNe => compare_not Eq a b | CGe => compare Ge a b | CLt => compare_not Ge a b
  | CGt => compare Gt a b | CLe => compare_not Gt a b
  end.

(** The halves are those of a number. *)
Definition are (d : data) (h : halves) (n : N) : Prop := ev d (fst h) = n mod W /\ ev d (snd h) = n / W.

Lemma halves_of_sound d x : wf d -> are d (halves_of x) (operand_val d x).
Proof.
  intro Hd. destruct x as [n|l h|l]; split; cbn [halves_of operand_val fst snd ev]; try reflexivity;
    rewrite ?(N.mul_comm W); pose proof (Hd l) as H.
  - rewrite N.mod_add by discriminate. symmetry. apply N.mod_small, H.
  - rewrite N.div_add by discriminate. rewrite N.div_small by exact H. reflexivity.
  - symmetry. apply N.mod_small, H.
  - symmetry. apply N.div_small, H.
Qed.
Lemma W_pow : W = 2 ^ 32. Proof. reflexivity. Qed.
Lemma land_mod a b : N.land a b mod W = N.land (a mod W) (b mod W).
Proof.
  rewrite W_pow, <- !N.land_ones. bits n.
  destruct (N.testbit a n), (N.testbit b n), (N.testbit (N.ones 32) n); reflexivity.
Qed.
Lemma land_div a b : N.land a b / W = N.land (a / W) (b / W).
Proof. rewrite W_pow, <- !N.shiftr_div_pow2. apply N.shiftr_land. Qed.
Lemma and_halves_sound d a b m n : wf d -> are d a m -> are d b n -> are d (and_halves a b) (N.land m n).
Proof.
  intros Hd [A1 A2] [B1 B2]. split; cbn [and_halves fst snd]; rewrite mkB_sound by exact Hd; cbn [alu_val];
    rewrite ?A1, ?A2, ?B1, ?B2; symmetry; [apply land_mod|apply land_div].
Qed.
Lemma compare_sound d r a b m n : r <> Share -> are d a m -> are d b n ->
  fval d (compare r a b) = rel_val r m n /\ fval d (compare_not r a b) = negb (rel_val r m n).
Proof.
  intros Hr [A1 A2] [B1 B2].
  pose proof (N.div_mod m W ltac:(discriminate)) as Dm. pose proof (N.div_mod n W ltac:(discriminate)) as Dn.
  pose proof (N.mod_lt m W ltac:(discriminate)) as Lm. pose proof (N.mod_lt n W ltac:(discriminate)) as Ln.
  destruct r; try congruence; cbn [compare compare_not fval]; rewrite !formula_sound, A1, A2, B1, B2; cbn [rel_val];
    clear A1 A2 B1 B2; revert Dm Dn Lm Ln; generalize (m / W) (m mod W) (n / W) (n mod W); unfold W; intros mh ml nh nl ? ? ? ?.
  - destruct (N.eqb_spec mh nh), (N.eqb_spec ml nl), (N.eqb_spec m n); split; try reflexivity; exfalso; lia.
  - destruct (N.ltb_spec nh mh), (N.leb_spec nh mh), (N.eqb_spec mh nh), (N.ltb_spec nl ml), (N.ltb_spec n m); split; try reflexivity; exfalso; lia.
  - destruct (N.ltb_spec nh mh), (N.leb_spec nh mh), (N.eqb_spec mh nh), (N.leb_spec nl ml), (N.leb_spec n m); split; try reflexivity; exfalso; lia.
Qed.
Lemma test_form_sound d t : wf d -> fval d (test_form t) = test_val d t.
Proof.
  intro Hd. unfold test_form, test_val.
  set (h := fold_left _ (masks t) (halves_of (left t))). set (n := fold_left _ (masks t) (operand_val d (left t))).
  assert (are d h n) as A.
  { unfold h, n. pose proof (halves_of_sound d (left t) Hd) as A. revert A.
    generalize (halves_of (left t)) (operand_val d (left t)). induction (masks t) as [|m l IH]; intros g v A; [exact A|].
    apply IH, and_halves_sound; [exact Hd|exact A|apply halves_of_sound, Hd]. }
  pose proof (halves_of_sound d (right t) Hd) as Br. clearbody h n.
  assert (forall r, r <> Share -> fval d (compare r h (halves_of (right t))) = rel_val r n (operand_val d (right t)) /\
    fval d (compare_not r h (halves_of (right t))) = negb (rel_val r n (operand_val d (right t)))) as Cmp.
  { intros r Hr. apply compare_sound; assumption. }
  destruct (op t); cbn [cmp_val];
    match goal with |- context [?f ?r h _] => destruct (Cmp r ltac:(discriminate)) as [E E'] end;
    (rewrite E || rewrite E'); cbn [rel_val]; rewrite ?N.leb_antisym, ?negb_involutive; reflexivity.
Qed.

(** * Conditions as formulas: balanced ones, so that a long list does not need a deep recursion *)

Fixpoint pair_up (l done : list form) : list form :=
  match l with
  | a :: b :: l => pair_up l (FAnd a b :: done)
  | [a] => rev_append done [a]
  | [] => rev_append done []
  end.
Fixpoint all_of (rounds : nat) (l : list form) : form :=
  match l, rounds with
  | [], _ => FB true
  | [f], _ => f
  | f :: l, O => fold_left FAnd l f
  | l, S rounds => all_of rounds (pair_up l [])
  end.
Definition gather {T} (f : T -> form) : list T -> list form -> form :=
  fix go l done := match l with [] => all_of 64 (rev_append done []) | x :: l => go l (f x :: done) end.
Fixpoint cond_form (c : cond) : form :=
  match c with
  | Is t => test_form t
  | All l => gather cond_form l []
  | Any l => FNot (gather (fun c => FNot (cond_form c)) l [])
  end.

Lemma forallb_rev_append {T} (f : T -> bool) a : forall b, forallb f (rev_append a b) = forallb f a && forallb f b.
Proof.
  induction a as [|x a IH]; intro b; [reflexivity|]. cbn [rev_append forallb]. rewrite IH. cbn [forallb].
  destruct (f x), (forallb f a); reflexivity.
Qed.
Lemma pair_up_sound d : forall l done, forallb (fval d) (pair_up l done) = forallb (fval d) done && forallb (fval d) l.
Proof.
  fix IH 1. intros [|a [|b l]] done; cbn [pair_up]; [apply forallb_rev_append..|]. rewrite IH. cbn [forallb fval].
  destruct (fval d a), (fval d b), (forallb (fval d) done); reflexivity.
Qed.
Lemma all_of_sound d rounds : forall l, fval d (all_of rounds l) = forallb (fval d) l.
Proof.
  assert (forall l f, fval d (fold_left FAnd l f) = fval d f && forallb (fval d) l) as G.
  { induction l as [|g l IH]; intro f; cbn [fold_left forallb]; [rewrite andb_true_r; reflexivity|]. rewrite IH.
    cbn [fval]. symmetry. apply andb_assoc. }
  induction rounds as [|n IH]; intros [|f [|g l]]; try (cbn [all_of forallb fval]; rewrite ?andb_true_r; reflexivity).
  - apply (G (g :: l) f).
  - cbn [all_of]. rewrite IH, pair_up_sound. reflexivity.
Qed.
Lemma gather_sound {T} d (f : T -> form) : forall l done,
  fval d (gather f l done) = forallb (fval d) done && forallb (fun x => fval d (f x)) l.
Proof.
  induction l as [|x l IH]; intro done; cbn [gather forallb].
  - rewrite all_of_sound, forallb_rev_append. reflexivity.
  - fold (gather f). rewrite IH. cbn [forallb]. destruct (fval d (f x)), (forallb (fval d) done); reflexivity.
Qed.

Section cond_rect.
  Variable P : cond -> Prop.
  Hypothesis HIs : forall t, P (Is t).
  Hypothesis HAll : forall l, Forall P l -> P (All l).
  Hypothesis HAny : forall l, Forall P l -> P (Any l).
  Fixpoint cond_all (c : cond) : P c :=
    let list := fix go l : Forall P l := match l with [] => Forall_nil P | c :: l => Forall_cons c (cond_all c) (go l) end in
    match c with Is t => HIs t | All l => HAll l (list l) | Any l => HAny l (list l) end.
End cond_rect.

Lemma forallb_same {T} (f g : T -> bool) l : Forall (fun x => f x = g x) l -> forallb f l = forallb g l.
Proof. induction 1 as [|x l E _ IH]; cbn; congruence. Qed.
Lemma existsb_negb {T} (f : T -> bool) l : existsb f l = negb (forallb (fun x => negb (f x)) l).
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. rewrite negb_andb, negb_involutive, IH. reflexivity. Qed.
Lemma cond_form_sound d c : wf d -> fval d (cond_form c) = cond_val d c.
Proof.
  intro Hd. induction c as [t|l IH|l IH] using cond_all; cbn [cond_form cond_val].
  - apply test_form_sound, Hd.
  - rewrite gather_sound. apply forallb_same, IH.
  - rewrite existsb_negb. cbn [fval]. rewrite gather_sound. cbn [forallb andb fval]. f_equal. apply forallb_same.
    revert IH. apply Forall_impl. intros c E. congruence.
Qed.

(** * Answers *)

Inductive ans := Yes | No | Ask (t : tst).
Definition is_ans (a : ans) (b : bool) : Prop := match a with Yes => b = true | No => b = false | Ask _ => True end.
Definition ans_not (a : ans) : ans := match a with Yes => No | No => Yes | a => a end.

Definition ask_test (K : know) (t : tst) : ans :=
  match decide K t with Some true => Yes | Some false => No | None => Ask t end.
Fixpoint ask_form (K : know) (f : form) : ans :=
  match f with
  | FB true => Yes
  | FB false => No
  | FT t => ask_test K t
  | FAnd a b => match ask_form K a with
    | No => No | Yes => ask_form K b | Ask t => match ask_form K b with No => No | _ => Ask t end end
  | FOr a b => match ask_form K a with
    | Yes => Yes | No => ask_form K b | Ask t => match ask_form K b with Yes => Yes | _ => Ask t end end
  | FNot a => ans_not (ask_form K a)
  end.

Lemma ans_not_sound a x : is_ans a x -> is_ans (ans_not a) (negb x).
Proof. destruct a; cbn; intros; subst; auto. Qed.
Lemma ask_test_sound K d t : wf d -> sat K d -> is_ans (ask_test K t) (holds d t).
Proof.
  intros Hd S. unfold ask_test. destruct (decide K t) as [[|]|] eqn:D; cbn; auto; exact (decide_sound _ _ _ _ Hd S D).
Qed.
Lemma ask_form_sound K d f : wf d -> sat K d -> is_ans (ask_form K f) (fval d f).
Proof.
  intros Hd S. induction f as [[|]|t|a IHa b IHb|a IHa b IHb|a IHa]; cbn [ask_form fval]; try reflexivity.
  - apply ask_test_sound; assumption.
  - destruct (ask_form K a); cbn [is_ans] in IHa; rewrite ?IHa; [exact IHb|reflexivity|].
    destruct (ask_form K b); cbn [is_ans] in *; auto. rewrite IHb. apply andb_false_r.
  - destruct (ask_form K a); cbn [is_ans] in IHa; rewrite ?IHa; [reflexivity|exact IHb|].
    destruct (ask_form K b); cbn [is_ans] in *; auto. rewrite IHb. apply orb_true_r.
  - apply ans_not_sound, IHa.
Qed.

(** * Clauses: rules with a formula *)

Record clause := Clause { gives : N; ranges : list (N * N); guard : form }.
Definition covers (n : N) (l : list (N * N)) : bool := existsb (fun i => (fst i <=? n) && (n <=? snd i)) l.
Definition applies (d : data) (c : clause) : bool := covers (d 0%nat) (ranges c) && fval d (guard c).
Definition clauses_val (d : data) (l : list clause) (default : N) : N :=
  match find (applies d) l with Some c => gives c | None => default end.
Definition clauses_of (l : list rule) : list clause :=
  rev_append (fold_left (fun done r => Clause (returns r) (numbers r) (gather cond_form (conditions r) []) :: done) l []) [].

Lemma clauses_val_cons d c l def : clauses_val d (c :: l) def = if applies d c then gives c else clauses_val d l def.
Proof. unfold clauses_val. cbn [find]. destruct (applies d c); reflexivity. Qed.
Lemma clauses_val_app d a b def : clauses_val d (a ++ b) def = clauses_val d a (clauses_val d b def).
Proof. induction a as [|c a IH]; [reflexivity|]. cbn [app]. rewrite !clauses_val_cons, IH. reflexivity. Qed.
Lemma clauses_of_sound d l def : wf d -> clauses_val d (clauses_of l) def = rules_val d l def.
Proof.
  intro Hd. unfold clauses_of. rewrite rev_append_rev, app_nil_r.
  match goal with |- context [fold_left ?f l []] => set (step := f) end.
  assert (forall done, clauses_val d (rev (fold_left step l done)) def = clauses_val d (rev done) (rules_val d l def)) as G.
  2: { rewrite G. reflexivity. }
  induction l as [|r l IH]; intro done; [reflexivity|]. cbn [fold_left]. rewrite IH. unfold step. cbn [rev].
  rewrite clauses_val_app. f_equal. rewrite clauses_val_cons. unfold rules_val. cbn [find].
  assert (applies d (Clause (returns r) (numbers r) (gather cond_form (conditions r) [])) = matches d r) as ->.
  2: { destruct (matches d r); reflexivity. }
  unfold applies, matches. cbn [ranges guard]. rewrite gather_sound. f_equal. apply forallb_same, Forall_forall.
  intros c _. apply cond_form_sound, Hd.
Qed.

(** * A search tree over syscall numbers *)

(** The clauses that may apply in each interval of numbers; [Node at_] divides below [at_]. *)
Inductive tree := Leaf (l : list clause) | Node (at_ : N) (below rest : tree).
Fixpoint clauses_at (t : tree) (n : N) : list clause :=
  match t with Leaf l => l | Node at_ b r => if n <? at_ then clauses_at b n else clauses_at r n end.

Definition within (lo hi : N) (l : list (N * N)) : list (N * N) :=
  fold_left (fun done i => if (fst i <=? hi) && (lo <=? snd i) then i :: done else done) l [].
Definition restrict (lo hi : N) (l : list clause) : list clause :=
  rev_append (fold_left (fun done r =>
    match within lo hi (ranges r) with
    | [] => done | n => Clause (gives r) n (guard r) :: done end) l []) [].
(** Where intervals begin, or end before, inside [lo] to [hi]. *)
Definition cuts (lo hi : N) (l : list clause) : list N :=
  fold_left (fun done r => fold_left (fun done i =>
    let add c done := if (lo <? c) && (c <=? hi) then c :: done else done in
    add (fst i) (add (snd i + 1) done)) (ranges r) done) l [].
Definition middle {T} (l : list T) : option T :=
  hd_error (snd (fold_left (fun '(odd, rest) _ => (negb odd, if odd then tl rest else rest)) l (false, l))).
Fixpoint build (depth : nat) (lo hi : N) (l : list clause) : tree :=
  let l := restrict lo hi l in
  match depth with
  | O => Leaf l
  | S depth =>
    match middle (cuts lo hi l) with
    | None => Leaf l
    | Some c => Node c (build depth lo (c - 1) l) (build depth c hi l)
    end
  end.

Lemma within_sound lo hi n l : lo <= n -> n <= hi -> covers n (within lo hi l) = covers n l.
Proof.
  intros L H. unfold within. transitivity (covers n l || covers n []); [|apply orb_false_r].
  generalize (@nil (N * N)). induction l as [|[a b] l IH]; intro done; [reflexivity|]. cbn [fold_left fst snd]. rewrite IH.
  cbn [covers existsb fst snd]. fold (covers n l).
  destruct (N.leb_spec a hi), (N.leb_spec lo b); cbn [andb covers existsb fst snd]; fold (covers n done);
    destruct (N.leb_spec a n), (N.leb_spec n b), (covers n l), (covers n done); try reflexivity; lia.
Qed.
Lemma restrict_sound d lo hi l def : lo <= d 0%nat -> d 0%nat <= hi ->
  clauses_val d (restrict lo hi l) def = clauses_val d l def.
Proof.
  intros L H. unfold restrict. rewrite rev_append_rev, app_nil_r.
  match goal with |- context [fold_left ?f l []] => set (step := f) end.
  assert (forall done, clauses_val d (rev (fold_left step l done)) def = clauses_val d (rev done) (clauses_val d l def)) as G.
  2: { rewrite G. reflexivity. }
  induction l as [|r l IH]; intro done; [reflexivity|]. cbn [fold_left]. rewrite IH. unfold step.
  pose proof (within_sound lo hi _ (ranges r) L H) as E.
  rewrite clauses_val_cons. unfold applies at 1. rewrite <- E.
  destruct (within _ _ _) as [|i n] eqn:F; [reflexivity|].
  cbn [rev]. rewrite clauses_val_app. f_equal. rewrite clauses_val_cons. reflexivity.
Qed.
Lemma build_sound d depth : forall lo hi l def, lo <= d 0%nat -> d 0%nat <= hi ->
  clauses_val d (clauses_at (build depth lo hi l) (d 0%nat)) def = clauses_val d l def.
Proof.
  induction depth as [|depth IH]; intros lo hi l def L H; cbn [build]; [apply restrict_sound; assumption|].
  destruct (middle _) as [c|]; cbn [clauses_at]; [|apply restrict_sound; assumption].
  destruct (N.ltb_spec (d 0%nat) c); rewrite IH by lia; apply restrict_sound; assumption.
Qed.

(** * Policies *)

(** What is left of a filter where some things are known: sections, one section, or clauses of one. *)
Record ready_section := Ready { rtoken : N; rdefault : N; rtree : tree }.
Inductive residual := Sections (l : list ready_section) (other : N) | Numbers (t : tree) (default : N)
| Clauses (l : list clause) (default : N).
(** [g] may change clauses. *)
Definition whole (g : list clause -> list clause) (f : filter) : residual :=
  Sections (map (fun s => Ready (token s) (default s) (build 64 0 ones (g (clauses_of (rules s))))) (sections f)) (other f).
(** [inl]: one filter; [inr]: a stack, the newest first. *)
Definition due := (residual + list residual)%type.
Definition prepare (g : list clause -> list clause) (p : policy) : due :=
  match p with One f => inl (whole g f) | Stack l => inr (map (whole g) (rev l)) end.

Definition tree_val (d : data) (t : tree) (default : N) : N := clauses_val d (clauses_at t (d 0%nat)) default.
Definition residual_val (d : data) (r : residual) : N :=
  match r with
  | Sections l other =>
    match find (fun s => d 1%nat =? rtoken s) l with Some s => tree_val d (rtree s) (rdefault s) | None => other end
  | Numbers t default => tree_val d t default
  | Clauses l default => clauses_val d l default
  end.
Definition due_val (d : data) (p : due) : N :=
  match p with inl r => residual_val d r | inr l => fold_left stricter (map (residual_val d) l) allow end.

(** ** Narrowing: what cannot apply is dropped *)

Fixpoint ask_numbers (k : wk) (l : list (N * N)) : ans :=
  match l with
  | [] => No
  | (lo, hi) :: l =>
    if (mx k <? lo) || (hi <? mn k) then ask_numbers k l
    else if (lo <=? mn k) && (mx k <=? hi) then Yes
    else Ask (Ge, Wd 0, C (if mn k <? lo then lo else hi + 1))
  end.
Definition ask_clause (K : know) (c : clause) : ans :=
  match ask_numbers (word K 0) (ranges c) with Yes => ask_form K (guard c) | a => a end.
Fixpoint narrow_clauses (K : know) (l : list clause) : list clause :=
  match l with
  | [] => []
  | r :: rest => match ask_clause K r with No => narrow_clauses K rest | _ => l end
  end.
Fixpoint narrow_tree (K : know) (t : tree) (default : N) : residual :=
  match t with
  | Leaf l => Clauses (narrow_clauses K l) default
  | Node at_ b r =>
    if mx (word K 0) <? at_ then narrow_tree K b default
    else if at_ <=? mn (word K 0) then narrow_tree K r default
    else Numbers t default
  end.
Fixpoint narrow_sections (K : know) (l : list ready_section) (other : N) : residual :=
  match l with
  | [] => Sections [] other
  | s :: rest =>
    match ask_test K (Eq, Wd 1, C (rtoken s)) with
    | Yes => narrow_tree K (rtree s) (rdefault s) | No => narrow_sections K rest other | Ask _ => Sections l other end
  end.
Definition narrow_residual (K : know) (r : residual) : residual :=
  match r with
  | Sections l other => narrow_sections K l other
  | Numbers t default => narrow_tree K t default
  | Clauses l default => Clauses (narrow_clauses K l) default
  end.
Definition narrow (K : know) (p : due) : due :=
  match p with inl r => inl (narrow_residual K r) | inr l => inr (map (narrow_residual K) l) end.

(** ** Answers *)

Fixpoint ask_clauses (K : know) (l : list clause) (default : N) : N + tst :=
  match l with
  | [] => inl default
  | r :: l => match ask_clause K r with Yes => inl (gives r) | No => ask_clauses K l default | Ask t => inr t end
  end.
Definition ask_residual (K : know) (r : residual) : N + tst :=
  match narrow_residual K r with
  | Sections [] other => inl other
  | Sections (s :: _) _ => inr (Eq, Wd 1, C (rtoken s))
  | Numbers (Node at_ _ _) _ => inr (Ge, Wd 0, C at_)
  | Numbers (Leaf l) default | Clauses l default => ask_clauses K l default
  end.
Fixpoint ask_stack (K : know) (kept : N) (newest_first : list residual) : N + tst :=
  match newest_first with
  | [] => inl kept
  | r :: l => match ask_residual K r with inl v => ask_stack K (stricter kept v) l | inr t => inr t end
  end.
Definition ask_due (K : know) (p : due) : N + tst :=
  match p with inl r => ask_residual K r | inr l => ask_stack K allow l end.

(** Whether a value is the one that the policy gives ([inl true]): all clauses that may be the first to apply give it. Or a test on
    which that depends; [inl false]: it is not, or that is not asked here. *)
Fixpoint clauses_give (K : know) (v : N) (l : list clause) (default : N) (open : option tst) : bool + tst :=
  let other := match open with Some t => inr t | None => inl false end in
  match l with
  | [] => if default =? v then inl true else other
  | c :: l => match ask_clause K c, gives c =? v with
    | No, _ => clauses_give K v l default open
    | Yes, true => inl true
    | Yes, false => other
    | Ask t, true => clauses_give K v l default (match open with Some _ => open | None => Some t end)
    | Ask t, false => inr t
    end
  end.
Definition due_gives (K : know) (v : N) (p : due) : bool + tst :=
  match p with
  | inl r => match narrow_residual K r with Clauses l default => clauses_give K v l default None | _ => inl false end
  | inr _ => inl false
  end.

(** ** Soundness *)

Lemma prepare_sound d g p : wf d -> (forall l def, clauses_val d (g l) def = clauses_val d l def) ->
  due_val d (prepare g p) = verdict d p.
Proof.
  intros Hd G. assert (forall f, residual_val d (whole g f) = filter_val d f) as F.
  { intro f. unfold whole, filter_val. cbn [residual_val].
    induction (sections f) as [|s l IH]; cbn [map find]; [reflexivity|]. cbn [rtoken].
    destruct (d 1%nat =? token s); [|exact IH]. unfold tree_val. cbn [rtree rdefault].
    rewrite build_sound; [rewrite G; apply clauses_of_sound, Hd|lia|]. pose proof (Hd 0%nat) as H. unfold W in H. unfold ones. lia. }
  destruct p as [f|l]; cbn [prepare due_val verdict]; [apply F|]. f_equal. rewrite map_map. apply map_ext, F.
Qed.

Section Sound.
Variables (K : know) (d : data).
Hypotheses (Hd : wf d) (S : sat K d).

Lemma ask_numbers_sound l : is_ans (ask_numbers (word K 0) l) (covers (d 0%nat) l).
Proof.
  destruct S as [Sw _]. destruct (Sw 0%nat) as (H1 & H2 & _).
  induction l as [|[lo hi] l IH]; cbn [ask_numbers covers existsb fst snd]; [reflexivity|]. fold (covers (d 0%nat) l).
  destruct (N.ltb_spec (mx (word K 0)) lo); cbn [orb].
  { destruct (N.leb_spec lo (d 0%nat)); [lia|]. exact IH. }
  destruct (N.ltb_spec hi (mn (word K 0))).
  { destruct (N.leb_spec (d 0%nat) hi); [lia|]. rewrite andb_false_r. exact IH. }
  destruct (N.leb_spec lo (mn (word K 0))), (N.leb_spec (mx (word K 0)) hi); try exact I.
  cbn [andb is_ans]. destruct (N.leb_spec lo (d 0%nat)), (N.leb_spec (d 0%nat) hi); try lia; reflexivity.
Qed.
Lemma ask_clause_sound c : is_ans (ask_clause K c) (applies d c).
Proof.
  unfold ask_clause, applies. pose proof (ask_numbers_sound (ranges c)) as A.
  destruct (ask_numbers _ _); cbn [is_ans] in A |- *; rewrite ?A; [|reflexivity|exact I].
  apply ask_form_sound; assumption.
Qed.
Lemma narrow_clauses_sound l def : clauses_val d (narrow_clauses K l) def = clauses_val d l def.
Proof.
  induction l as [|r l IH]; cbn [narrow_clauses]; [reflexivity|]. pose proof (ask_clause_sound r) as A.
  destruct (ask_clause K r); try reflexivity. cbn [is_ans] in A. rewrite IH, clauses_val_cons, A. reflexivity.
Qed.
Lemma narrow_tree_sound t def : residual_val d (narrow_tree K t def) = tree_val d t def.
Proof.
  destruct S as [Sw _]. destruct (Sw 0%nat) as (H1 & H2 & _).
  induction t as [l|at_ b IHb r IHr]; cbn [narrow_tree]; [apply narrow_clauses_sound|]. unfold tree_val in *. cbn [clauses_at].
  destruct (N.ltb_spec (mx (word K 0)) at_).
  - destruct (N.ltb_spec (d 0%nat) at_); [exact IHb|lia].
  - destruct (N.leb_spec at_ (mn (word K 0))); [|reflexivity]. destruct (N.ltb_spec (d 0%nat) at_); [lia|exact IHr].
Qed.
Lemma narrow_residual_sound r : residual_val d (narrow_residual K r) = residual_val d r.
Proof.
  destruct r as [l o|t def|l def]; cbn [narrow_residual]; [|apply narrow_tree_sound|apply narrow_clauses_sound].
  induction l as [|s l IH]; cbn [narrow_sections]; [reflexivity|].
  pose proof (ask_test_sound K d (Eq, Wd 1, C (rtoken s)) Hd S) as A. cbn [holds ev rel_val] in A.
  destruct (ask_test _ _); cbn [is_ans] in A; cbn [residual_val find]; rewrite ?A; [apply narrow_tree_sound|exact IH|reflexivity].
Qed.
Lemma narrow_sound p : due_val d (narrow K p) = due_val d p.
Proof.
  destruct p as [r|l]; cbn [narrow due_val]; [apply narrow_residual_sound|].
  f_equal. rewrite map_map. apply map_ext, narrow_residual_sound.
Qed.
Lemma ask_clauses_sound l def v : ask_clauses K l def = inl v -> clauses_val d l def = v.
Proof.
  induction l as [|r l IH]; cbn [ask_clauses]; [cbn; congruence|]. rewrite clauses_val_cons.
  pose proof (ask_clause_sound r) as A. destruct (ask_clause K r); cbn [is_ans] in A; rewrite ?A; [congruence|exact IH|discriminate].
Qed.
Lemma ask_residual_sound r v : ask_residual K r = inl v -> residual_val d r = v.
Proof.
  unfold ask_residual. rewrite <- narrow_residual_sound. destruct (narrow_residual K r) as [[|s l] o|[l|] def|l def];
    try discriminate; try apply ask_clauses_sound. cbn. congruence.
Qed.
Lemma ask_due_sound p v : ask_due K p = inl v -> due_val d p = v.
Proof.
  destruct p as [r|l]; cbn [ask_due due_val]; [apply ask_residual_sound|].
  generalize allow. induction l as [|r l IH]; intro kept; cbn [map ask_stack fold_left]; [congruence|].
  destruct (ask_residual K r) as [u|] eqn:A; [|discriminate]. rewrite (ask_residual_sound _ _ A). apply IH.
Qed.
Lemma clauses_give_sound v l def : forall open, clauses_give K v l def open = inl true -> clauses_val d l def = v.
Proof.
  induction l as [|c l IH]; intros open E; cbn [clauses_give] in E.
  - destruct (N.eqb_spec def v) as [Q|]; [exact Q|destruct open; discriminate].
  - rewrite clauses_val_cons. pose proof (ask_clause_sound c) as A.
    destruct (ask_clause K c); cbn [is_ans] in A; rewrite ?A; [| |];
      destruct (N.eqb_spec (gives c) v) as [Q|]; try exact Q; try exact (IH _ E); try (destruct open; discriminate).
    rewrite (IH _ E), Q. destruct (applies d c); reflexivity.
Qed.
Lemma due_gives_sound v p : due_gives K v p = inl true -> due_val d p = v.
Proof.
  destruct p as [r|]; [|discriminate]. cbn [due_gives due_val]. rewrite <- narrow_residual_sound.
  destruct (narrow_residual K r) as [| |l def]; try discriminate.
  exact (clauses_give_sound v l def None).
Qed.
End Sound.
