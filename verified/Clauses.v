(** What is left of a policy on a path: clauses, from which results of tests remove what they decide.

    Which clauses a result is used for is a matter of success only: each clause may be simplified, or left as it is. The choices
    here are those of generators that continue in the same way where the same clauses are left. *)
From Coq Require Import NArith List Bool Lia.
From Callgate Require Import Spec Know View Decide Ask.
Import ListNotations.
Open Scope N_scope.

(** * Conjunctions: a rule with alternatives becomes several clauses *)

(** Whether a bit is set is the negation of that it is 0, and "at least 1" that of "0", so that equal tests look alike. *)
Definition bit_of (a : sexp) : option N :=
  match a with B _ And _ (C u) => if is_bit u then Some u else None | _ => None end.
Definition canonical (t : tst) (b : bool) : tst * bool :=
  let '(r, a, y) := t in
  match r, y with
  | Eq, C v => match bit_of a with Some u => if v =? u then ((Eq, a, C 0), negb b) else (t, b) | None => (t, b) end
  | Ge, C n => if n =? 1 then ((Eq, a, C 0), negb b) else (t, b)
  | _, _ => (t, b)
  end.
Definition literal (t : tst) (b : bool) : form :=
  let (t, b) := canonical t b in if b then FT t else FNot (FT t).

(** A formula as alternatives, each a list of literals. *)
Definition product (l m : list (list form)) : list (list form) := flat_map (fun y => map (fun x => x ++ y) l) m.
Fixpoint alternatives (b : bool) (f : form) : list (list form) :=
  match f with
  | FB c => if Bool.eqb c b then [[]] else []
  | FT t => match decide (nothing 0) t with
    | Some c => if Bool.eqb c b then [[]] else []
    | None => [[literal t b]]
    end
  | FAnd x y => if b then product (alternatives b x) (alternatives b y) else alternatives b x ++ alternatives b y
  | FOr x y => if b then alternatives b x ++ alternatives b y else product (alternatives b x) (alternatives b y)
  | FNot x => alternatives (negb b) x
  end.
(** At most how many they are, up to a limit. *)
Definition few : N := 512.
Fixpoint how_many (b : bool) (f : form) : N :=
  N.min (few + 1) (match f with
  | FB _ | FT _ => 1
  | FAnd x y => if b then how_many b x * how_many b y else how_many b x + how_many b y
  | FOr x y => if b then how_many b x + how_many b y else how_many b x * how_many b y
  | FNot x => how_many (negb b) x
  end).
Definition parts_of (c : clause) : list clause :=
  if how_many true (guard c) <=? few
  then map (fun l => Clause (gives c) (ranges c) (all_of 64 l)) (alternatives true (guard c)) else [c].
Definition expand (l : list clause) : list clause :=
  rev_append (fold_left (fun done c => rev_append (parts_of c) done) l []) [].

Lemma bit_of_sound d a u : bit_of a = Some u -> u <> 0 /\ (ev d a = 0 \/ ev d a = u).
Proof.
  destruct a as [|i|s o x y]; try discriminate. destruct o; try discriminate. destruct y as [v| |]; try discriminate.
  cbn [bit_of]. destruct (is_bit v) eqn:E; [|discriminate]. intro H; apply some_inj in H; subst v. split.
  - intros ->. discriminate.
  - cbn [ev alu_val]. apply bit_cases, E.
Qed.
Lemma canonical_sound d t b : Bool.eqb (holds d (fst (canonical t b))) (snd (canonical t b)) = Bool.eqb (holds d t) b.
Proof.
  destruct t as [[r a] y]. unfold canonical. destruct r; try reflexivity; destruct y as [n| |]; try reflexivity.
  - destruct (bit_of a) as [u|] eqn:E; [|reflexivity]. destruct (N.eqb_spec n u) as [->|]; [|reflexivity].
    destruct (bit_of_sound d a u E) as [Hu [Z|Z]]; cbn [fst snd holds ev rel_val]; rewrite Z;
      destruct (N.eqb_spec u 0), (N.eqb_spec 0 u); try congruence; rewrite ?N.eqb_refl; destruct b; reflexivity.
  - destruct (N.eqb_spec n 1) as [->|]; [|reflexivity]. cbn [fst snd holds ev rel_val].
    destruct (N.eqb_spec (ev d a) 0), (N.leb_spec 1 (ev d a)); try lia; destruct b; reflexivity.
Qed.
Lemma literal_sound d t b : fval d (literal t b) = Bool.eqb (holds d t) b.
Proof.
  unfold literal. pose proof (canonical_sound d t b) as H. destruct (canonical t b) as [t' b']. cbn [fst snd] in H.
  rewrite <- H. destruct b'; cbn [fval]; destruct (holds d t'); reflexivity.
Qed.
Lemma product_sound d l m :
  existsb (forallb (fval d)) (product l m) = existsb (forallb (fval d)) l && existsb (forallb (fval d)) m.
Proof.
  unfold product. induction m as [|y m IH]; cbn [flat_map existsb]; [symmetry; apply andb_false_r|].
  rewrite existsb_app, IH. clear IH.
  assert (existsb (forallb (fval d)) (map (fun x => x ++ y) l) = existsb (forallb (fval d)) l && forallb (fval d) y) as ->.
  { induction l as [|x l IH]; cbn [map existsb]; [reflexivity|]. rewrite forallb_app, IH.
    destruct (forallb (fval d) x), (forallb (fval d) y), (existsb (forallb (fval d)) l); reflexivity. }
  destruct (existsb (forallb (fval d)) l), (forallb (fval d) y), (existsb (forallb (fval d)) m); reflexivity.
Qed.
Lemma alternatives_sound d f : wf d -> forall b, existsb (forallb (fval d)) (alternatives b f) = Bool.eqb (fval d f) b.
Proof.
  intro Hd. induction f as [c|t|x IHx y IHy|x IHx y IHy|x IHx]; intro b; cbn [alternatives fval].
  - destruct b, c; reflexivity.
  - destruct (decide (nothing 0) t) as [c|] eqn:E.
    + rewrite (decide_sound _ _ _ _ Hd (nothing_sound 0 d Hd) E). destruct b, c; reflexivity.
    + cbn [existsb forallb]. rewrite literal_sound. destruct (Bool.eqb _ _); reflexivity.
  - destruct b; [rewrite product_sound|rewrite existsb_app]; rewrite IHx, IHy; destruct (fval d x), (fval d y); reflexivity.
  - destruct b; [rewrite existsb_app|rewrite product_sound]; rewrite IHx, IHy; destruct (fval d x), (fval d y); reflexivity.
  - rewrite IHx. destruct (fval d x), b; reflexivity.
Qed.
Lemma parts_sound d c l def : wf d -> clauses_val d (parts_of c ++ l) def = clauses_val d (c :: l) def.
Proof.
  intro Hd. unfold parts_of. destruct (_ <=? _); [|reflexivity].
  pose proof (alternatives_sound d (guard c) Hd true) as A. revert A. generalize (alternatives true (guard c)). intros alts A.
  assert (clauses_val d (map (fun l => Clause (gives c) (ranges c) (all_of 64 l)) alts ++ l) def =
    if covers (d 0%nat) (ranges c) && existsb (forallb (fval d)) alts then gives c else clauses_val d l def) as ->.
  { clear A. induction alts as [|x alts IH]; cbn [map app existsb]; [rewrite andb_false_r; reflexivity|].
    rewrite clauses_val_cons, IH. unfold applies. cbn [ranges guard gives]. rewrite all_of_sound.
    destruct (covers _ _), (forallb (fval d) x), (existsb (forallb (fval d)) alts); reflexivity. }
  rewrite A, clauses_val_cons. unfold applies. destruct (fval d (guard c)); reflexivity.
Qed.
Lemma expand_sound d l def : wf d -> clauses_val d (expand l) def = clauses_val d l def.
Proof.
  intro Hd. unfold expand. rewrite rev_append_rev, app_nil_r.
  match goal with |- context [fold_left ?f l []] => set (step := f) end.
  assert (forall done, clauses_val d (rev (fold_left step l done)) def = clauses_val d (rev done) (clauses_val d l def)) as G.
  2: { rewrite G. reflexivity. }
  induction l as [|c l IH]; intro done; [reflexivity|]. cbn [fold_left]. rewrite IH. unfold step.
  rewrite rev_append_rev, rev_app_distr, rev_involutive, clauses_val_app. f_equal.
  rewrite <- clauses_val_app. apply parts_sound, Hd.
Qed.

(** * Simplification *)

(** [res] replaces tests by formulas with the same value. *)
Fixpoint simplify (res : tst -> form) (f : form) : form :=
  match f with
  | FB _ => f
  | FT t => res t
  | FAnd a b => match simplify res a with
    | FB false => FB false
    | FB true => simplify res b
    | a => match simplify res b with FB false => FB false | FB true => a | b => FAnd a b end
    end
  | FOr a b => match simplify res a with
    | FB true => FB true
    | FB false => simplify res b
    | a => match simplify res b with FB true => FB true | FB false => a | b => FOr a b end
    end
  | FNot a => match simplify res a with FB b => FB (negb b) | FNot a => a | a => FNot a end
  end.
Definition decided (dec : tst -> option bool) (t : tst) : form := match dec t with Some b => FB b | None => FT t end.
Definition every : list (N * N) := [(0, ones)].
Definition is_every (l : list (N * N)) : bool := match l with [(0, hi)] => hi =? ones | _ => false end.
(** [None]: the clause does not apply. *)
Definition simplify_clause (K : know) (res : tst -> form) (c : clause) : option clause :=
  match ask_numbers (word K 0) (ranges c) with
  | No => None
  | a => match simplify res (guard c) with
    | FB false => None
    | f => Some (Clause (gives c) (match a with Yes => every | _ => ranges c end) f)
    end
  end.
Definition is_certain (c : clause) : bool := match guard c with FB true => is_every (ranges c) | _ => false end.
(** Clauses have no effect if they give what is given after them. The list is reversed. *)
Fixpoint trim (v : N) (l : list clause) : list clause :=
  match l with c :: rest => if gives c =? v then trim v rest else l | [] => [] end.
Fixpoint simplify_all (K : know) (res : tst -> form) (default : N) (l done : list clause) : list clause :=
  match l with
  | [] => rev_append (trim default done) []
  | c :: l => match simplify_clause K res c with
    | None => simplify_all K res default l done
    | Some c =>
      if is_certain c then rev_append (trim (gives c) done) (if gives c =? default then [] else [c])
      else simplify_all K res default l (c :: done)
    end
  end.
(** The first clauses, as long as they are chosen. *)
Fixpoint simplify_while (chosen : clause -> bool) (K : know) (res : tst -> form) (l : list clause) : list clause :=
  match l with
  | [] => []
  | c :: rest =>
    if chosen c then
      match simplify_clause K res c with
      | None => simplify_while chosen K res rest
      | Some c => if is_certain c then [c] else c :: simplify_while chosen K res rest
      end
    else l
  end.
Definition simplify_first (chosen : clause -> bool) (K : know) (res : tst -> form) (c : clause) (rest : list clause) : list clause :=
  let rest := simplify_while chosen K res rest in
  match simplify_clause K res c with
  | None => rest
  | Some c => if is_certain c then [c] else c :: rest
  end.

Lemma is_every_sound d l : wf d -> is_every l = true -> covers (d 0%nat) l = true.
Proof.
  intro Hd. destruct l as [|[[|lo] hi] [|i l]]; try discriminate. cbn [is_every]. intro E. apply N.eqb_eq in E. subst hi.
  unfold covers. cbn [existsb fst snd]. pose proof (Hd 0%nat) as H. unfold W in H. unfold ones.
  destruct (N.leb_spec 0 (d 0%nat)), (N.leb_spec (d 0%nat) 4294967295); try reflexivity; lia.
Qed.
Lemma certain_sound d c : wf d -> is_certain c = true -> applies d c = true.
Proof.
  intro Hd. unfold is_certain, applies. destruct (guard c) as [[|]| | | |]; try discriminate. intro C.
  rewrite (is_every_sound d _ Hd C). reflexivity.
Qed.
Lemma trim_sound d v l : clauses_val d (rev (trim v l)) v = clauses_val d (rev l) v.
Proof.
  induction l as [|c l IH]; [reflexivity|]. cbn [trim]. destruct (N.eqb_spec (gives c) v) as [E|]; [|reflexivity].
  rewrite IH. cbn [rev]. rewrite clauses_val_app, clauses_val_cons, E. destruct (applies d c); reflexivity.
Qed.
Lemma decided_sound d dec t : (forall t b, dec t = Some b -> holds d t = b) -> fval d (decided dec t) = holds d t.
Proof. intro H. unfold decided. destruct (dec t) eqn:E; [symmetry; exact (H _ _ E)|reflexivity]. Qed.

Section Simplify.
Variables (K : know) (d : data) (res : tst -> form).
Hypotheses (Hd : wf d) (S : sat K d) (R : forall t, fval d (res t) = holds d t).

Lemma simplify_sound f : fval d (simplify res f) = fval d f.
Proof.
  induction f as [b|t|a IHa b IHb|a IHa b IHb|a IHa]; cbn [simplify fval].
  - reflexivity.
  - apply R.
  - rewrite <- IHa, <- IHb. destruct (simplify res a) as [[|]| | | |]; try reflexivity;
      destruct (simplify res b) as [[|]| | | |]; cbn [fval]; rewrite ?andb_true_r, ?andb_false_r; reflexivity.
  - rewrite <- IHa, <- IHb. destruct (simplify res a) as [[|]| | | |]; try reflexivity;
      destruct (simplify res b) as [[|]| | | |]; cbn [fval]; rewrite ?orb_true_r, ?orb_false_r; reflexivity.
  - rewrite <- IHa. destruct (simplify res a); cbn [fval]; rewrite ?negb_involutive; reflexivity.
Qed.
Lemma simplify_clause_sound c :
  match simplify_clause K res c with
  | Some c' => gives c' = gives c /\ applies d c' = applies d c
  | None => applies d c = false
  end.
Proof.
  unfold simplify_clause, applies. pose proof (ask_numbers_sound K d S (ranges c)) as A.
  rewrite <- (simplify_sound (guard c)).
  destruct (ask_numbers _ _); cbn [is_ans] in A.
  - rewrite A. destruct (simplify res (guard c)) as [[|]| | | |] eqn:E; try reflexivity; cbn [gives ranges guard];
      split; try reflexivity; rewrite (is_every_sound d every Hd eq_refl); reflexivity.
  - rewrite A. reflexivity.
  - destruct (simplify res (guard c)) as [[|]| | | |]; try (split; reflexivity). apply andb_false_r.
Qed.
Lemma simplify_all_sound l def : forall done,
  clauses_val d (simplify_all K res def l done) def = clauses_val d (rev done) (clauses_val d l def).
Proof.
  induction l as [|c l IH]; intro done; cbn [simplify_all]; [rewrite rev_append_rev, app_nil_r; exact (trim_sound d def done)|].
  pose proof (simplify_clause_sound c) as A. rewrite (clauses_val_cons d c l).
  destruct (simplify_clause K res c) as [c'|]; [|rewrite A; apply IH]. destruct A as [G A]. rewrite <- G, <- A.
  destruct (is_certain c') eqn:Q.
  - rewrite rev_append_rev, clauses_val_app, (certain_sound d c' Hd Q). cbv iota.
    rewrite <- (trim_sound d (gives c') done). f_equal.
    destruct (N.eqb_spec (gives c') def) as [E|]; [symmetry; exact E|].
    rewrite clauses_val_cons, (certain_sound d c' Hd Q). reflexivity.
  - rewrite IH. cbn [rev]. rewrite clauses_val_app. f_equal. rewrite clauses_val_cons. reflexivity.
Qed.
Lemma simplify_while_sound chosen l def : clauses_val d (simplify_while chosen K res l) def = clauses_val d l def.
Proof.
  induction l as [|c l IH]; cbn [simplify_while]; [reflexivity|]. destruct (chosen c); [|reflexivity].
  pose proof (simplify_clause_sound c) as A. rewrite (clauses_val_cons d c l).
  destruct (simplify_clause K res c) as [c'|]; [|rewrite A; exact IH]. destruct A as [G A]. rewrite <- G, <- A, <- IH.
  destruct (is_certain c') eqn:Q; rewrite clauses_val_cons; [rewrite (certain_sound d c' Hd Q)|]; reflexivity.
Qed.
Lemma simplify_first_sound chosen c l def : clauses_val d (simplify_first chosen K res c l) def = clauses_val d (c :: l) def.
Proof.
  unfold simplify_first. pose proof (simplify_clause_sound c) as A. rewrite (clauses_val_cons d c l).
  destruct (simplify_clause K res c) as [c'|]; [|rewrite A; apply simplify_while_sound]. destruct A as [G A].
  rewrite <- G, <- A, <- (simplify_while_sound chosen l def).
  destruct (is_certain c') eqn:Q; rewrite clauses_val_cons; [rewrite (certain_sound d c' Hd Q)|]; reflexivity.
Qed.
End Simplify.

(** * The result of a test *)

(** What is known if a formula has a value, at least. *)
Fixpoint suppose (f : form) (b : bool) (K : know) : know :=
  match f with
  | FB _ => K
  | FT t => match learn K t b with Some K => K | None => K end
  | FAnd f g => if b then suppose f b (suppose g b K) else K
  | FOr f g => if b then K else suppose f b (suppose g b K)
  | FNot f => suppose f (negb b) K
  end.
Lemma suppose_sound d f : wf d -> forall K b, sat K d -> fval d f = b -> sat (suppose f b K) d.
Proof.
  intro Hd. induction f as [c|t|f IHf g IHg|f IHf g IHg|f IHf]; intros K b S E; cbn [suppose fval] in *; try assumption.
  - destruct (learn_sound K d t Hd S) as [K' [L S']]. rewrite E in L. rewrite L. exact S'.
  - destruct b; [|exact S]. apply andb_true_iff in E. destruct E. auto.
  - destruct b; [exact S|]. apply orb_false_iff in E. destruct E. auto.
  - apply IHf; [exact S|]. rewrite <- E. symmetry. apply negb_involutive.
Qed.

(** The word of a test, and its bits on which the result depends. *)
Definition bits_of (t : tst) : option (nat * N) :=
  let '(r, a, b) := t in
  match see (nothing 0) a, see (nothing 0) b with
  | VM i m _ s, VC n | VC n, VM i m _ s => Some (i, match r with Share => N.land m (N.shiftl n s) | _ => m end)
  | VL i _, VC _ | VC _, VL i _ => Some (i, ones)
  | _, _ => None
  end.
(** Which tests a result decides: those of the same bits; all of a word whose value is known ([true]). [None]: any. More could
    be decided. But generators do not, so that paths with more knowledge would not meet others. *)
Definition scope := option (nat * N * bool).
Fixpoint scope_of (f : form) (b : bool) : scope :=
  match f with
  | FT ((r, _, _) as t) => match bits_of t with
    | Some (i, m) => Some (i, m, match r with Eq => b && (m =? ones) | _ => false end)
    | None => None
    end
  | FNot f => scope_of f (negb b)
  | _ => None
  end.
Definition tells (s : scope) (K : know) (t : tst) : option bool :=
  match s with
  | None => decide K t
  | Some (i, m, is_value) => match bits_of t with
    | Some (j, n) => if Nat.eqb i j && ((m =? n) || is_value) then decide K t else None
    | None => None
    end
  end.
Lemma tells_sound s K d t b : wf d -> sat K d -> tells s K t = Some b -> holds d t = b.
Proof.
  intros Hd S. unfold tells. destruct s as [[[i m] v]|]; [|apply decide_sound; assumption].
  destruct (bits_of t) as [[j n]|]; [|discriminate]. destruct (_ && _); [apply decide_sound; assumption|discriminate].
Qed.

Fixpoint literals (f : form) (l : list form) : list form :=
  match f with FAnd a b => literals a (literals b l) | _ => f :: l end.
(** Two literals of alternatives, as those of an order of 64 bits: a half has a value, or a greater, a less or another one. *)
Definition beside (x y : form) : bool :=
  match x, y with
  | FT (Eq, a, C v), (FT (Gt, b, C n) | FNot (FT ((Eq | Ge), b, C n))) => (v =? n) && same a b
  | _, _ => false
  end.
Definition alternate (l m : list form) : bool := existsb (fun x => existsb (fun y => beside x y || beside y x) m) l.
(** The tests of values, each with what is known if it holds. *)
Definition values_in (none : know) (l : list form) : list (scope * know) :=
  flat_map (fun x => match x with FT (Eq, _, C _) => [(scope_of x true, suppose x true none)] | _ => [] end) l.
Definition is_excluded (values : list (scope * know)) (y : form) : bool :=
  match y with
  | FT ((Eq, _, C _) as t) => existsb (fun '(s, K) => match tells s K t with Some false => true | _ => false end) values
  | _ => false
  end.
(** Both results of a test decide a literal of the same test. *)
Definition is_tested (yes no : know) (y : form) : bool :=
  match y with
  | FT t | FNot (FT t) => match decide yes t, decide no t with Some _, Some _ => true | _, _ => false end
  | _ => false
  end.
(** Whether a result counts for a clause behind the first one: it has the same test, or it is an alternative of the first one; if
    that [is_alone], without an alternative right behind it, it suffices that both demand different values. *)
Definition informed (yes no : know) (is_alone : bool) (first : list form) (values : list (scope * know)) (c : clause) : bool :=
  let other := literals (guard c) [] in
  existsb (is_tested yes no) other || (if is_alone then existsb (is_excluded values) other else alternate first other).
(** Whether a clause cannot hold if the first one, of which that is known, does. *)
Definition exclusive (first : know) (c : clause) : bool :=
  match ask_form first (guard c) with No => true | _ => false end.
