(** The checker: all paths of a program, with what is known of the input on each. *)
From Coq Require Import NArith List Bool Lia.
From Callgate Require Import Spec Know View Decide Ask.
Import ListNotations.
Open Scope N_scope.

(** A place in the program: the knowledge that leads there, what is left of the policy, the instructions that follow, and the
    registers. *)
Record place := Place { known : know; pol : due; rest : list insn; acc : sexp; idx : sexp; mem : nat -> sexp }.
(** Why the search stops: two returned values differ if an input is left; or a value has too many parts. *)
Inductive stop := Differs (K : know) | TooComplex.

(** The least value of a word, searched for only where the search would stop; [None]: there is none. It may be excluded after
    all, if the search for it is cut off: then [false]. *)
Fixpoint least (fuel : nat) (k : wk) : option (N * bool) :=
  match fuel, tighten1 k with
  | _, None => None
  | S f, Some k' => if (mn k =? mn k') && (km k =? km k') then Some (mn k, true) else least f k'
  | O, _ => Some (mn k, false)
  end.
Definition least_value := least 40.
(** A bit of a word on which excluded values depend: of the mask with the fewest unknown bits. *)
Fixpoint ones_in (p : positive) : N := match p with xH => 1 | xO p => ones_in p | xI p => ones_in p + 1 end.
Definition fewer (best m : N) : N :=
  match best, m with
  | _, 0 => best
  | 0, _ => m
  | N.pos a, N.pos b => if ones_in b <? ones_in a then m else best
  end.
Definition open_bit (i : nat) (k : wk) : option tst :=
  match fold_left (fun best e => fewer best (N.ldiff (fst e) (km k))) (ex k) 0 with
  | 0 => None
  | u => Some (test_bit i (high_bit u) 0)
  end.
(** [inl true]: no input is left. [inr t]: that is not known yet, and [t] is a test of a word about which it is not. *)
Fixpoint impossible (i : nat) (l : list wk) : bool + tst :=
  match l with
  | [] => inl false
  | k :: l =>
    match least_value k with
    | None => inl true
    | Some (_, true) => impossible (S i) l
    | Some (_, false) => match impossible (S i) l, open_bit i k with
      | inl true, _ => inl true | _, Some t => inr t | r, None => r end
    end
  end.

(** The same place, for both results of a test. *)
Definition split (p : place) (t : tst) : list place :=
  let with_result b := match learn (known p) t b with
    | Some K => [Place K (narrow K (pol p)) (rest p) (acc p) (idx p) (mem p)] | None => [] end in
  with_result true ++ with_result false.
(** A return of [e]. *)
Definition leaf (p : place) (e : sexp) : list place + stop :=
  let K := known p in
  match ask_due K (pol p) with
  | inr t => inl (split p (choose K t))
  | inl v =>
    match decide K (Eq, e, C v) with
    | Some true => inl []
    | Some false =>
      match impossible 0 (words K) with
      | inl true => inl [] | inl false => inr (Differs K) | inr t => inl (split p t) end
    | None => inl (split p (choose K (Eq, e, C v)))
    end
  end.
Definition operand (s : src) (x : sexp) : sexp := match s with SK k => C k | SX => x end.
Definition max_size : N := 200.

(** One place that follows. Values become large only in A. *)
Definition move (K : know) (o : due) (q : list insn) (a x : sexp) (m : nat -> sexp) : list place + stop :=
  if max_size <? size a then inr TooComplex else inl [Place K o q a x m].

Definition step (p : place) : list place + stop :=
  let '(Place K due l a x m) := p in
  let go := move K due in
  match l with
  | [] => inr TooComplex
  | i :: q =>
    match i with
    | LdAbs w => go q (Wd w) x m
    | LdImm k => go q (C k) x m
    | LdMem i => go q (m i) x m
    | LdxImm k => go q a (C k) m
    | LdxMem i => go q a (m i) m
    | St i => go q a x (set m i a)
    | Stx i => go q a x (set m i x)
    | Alu Div s =>
      match ask_form K (formula Eq (operand s x) (C 0)) with
      | Yes => leaf p (C 0)
      | No => go q (mkB Div a (operand s x)) x m
      | Ask t => inl (split p (choose K t))
      end
    | Alu o s => go q (mkB o a (operand s x)) x m
    | Neg => go q (mkB Sub (C 0) a) x m
    | Ja k => go (skipn k q) a x m
    | Jmp r s jt jf =>
      match ask_form K (formula r a (operand s x)) with
      | Yes => go (skipn jt q) a x m
      | No => go (skipn jf q) a x m
      | Ask t => inl (split p (choose K t))
      end
    | RetK k => leaf p (C k)
    | RetA => leaf p a
    | Tax => go q a a m
    | Txa => go q x x m
    end
  end.

(** The places that are left; all are done; or the search has stopped. *)
Inductive search := Going (l : list place) | Done | Stopped (s : stop).
Definition advance (s : search) : search :=
  match s with
  | Going [] => Done
  | Going (p :: l) => match step p with inl more => Going (more ++ l) | inr s => Stopped s end
  | s => s
  end.
(** At most 2^n steps. *)
Fixpoint advance_by (n : nat) (s : search) : search :=
  match n with
  | O => advance s
  | S n => match advance_by n s with Going _ as s => advance_by n s | s => s end
  end.

(** * Soundness *)

(** From this place, the program returns what is left of the policy says. *)
Definition right (p : place) : Prop := forall d, wf d -> sat (known p) d ->
  forall n scratch, (length (rest p) <= n)%nat -> (forall i, scratch i = ev d (mem p i)) ->
  run n (rest p) (ev d (acc p)) (ev d (idx p)) scratch d = Some (due_val d (pol p)).

Lemma least_sound fuel : forall k w, w < W -> inw k w -> least fuel k <> None.
Proof.
  induction fuel as [|f IH]; intros k w Hw I; cbn [least]; destruct (tighten1_sound k w Hw I) as [k' [-> I']];
    [discriminate|].
  destruct (_ && _); [discriminate|exact (IH k' w Hw I')].
Qed.
Lemma impossible_sound K d : wf d -> sat K d -> impossible 0 (words K) = inl true -> False.
Proof.
  intros Hd [S _]. assert (forall k, In k (words K) -> least_value k <> None) as L.
  { intros k I. destruct (In_nth (words K) k top I) as [i [_ N]]. specialize (S i). unfold word in S. rewrite N in S.
    exact (least_sound _ k (d i) (Hd i) S). }
  revert L. generalize 0%nat. induction (words K) as [|k l IH]; intros i L E; cbn [impossible] in E; [discriminate|].
  assert (forall k, In k l -> least_value k <> None) as L' by (intros; apply L; right; assumption).
  specialize (L k (or_introl eq_refl)). specialize (IH (Datatypes.S i) L').
  destruct (least_value k) as [[v [|]]|]; [exact (IH E)| |contradiction].
  destruct (impossible (Datatypes.S i) l) as [[|]|]; [exact (IH eq_refl)| |]; destruct (open_bit i k); discriminate.
Qed.

Lemma split_sound p t : Forall right (split p t) -> right p.
Proof.
  intros F d Hd S. unfold split in F. apply Forall_app in F. destruct F as [F1 F2].
  destruct (learn_sound (known p) d t Hd S) as [K [L S']].
  destruct (holds d t); rewrite L in *;
    [apply Forall_inv in F1; specialize (F1 d Hd S')|apply Forall_inv in F2; specialize (F2 d Hd S')];
    cbn [pol] in *; rewrite narrow_sound in *; assumption.
Qed.
(** A place from which a program returns [e] is right if [leaf] says so. *)
Lemma leaf_sound p e l : leaf p e = inl l -> Forall right l ->
  (forall d, wf d -> sat (known p) d -> forall n scratch, (length (rest p) <= n)%nat -> (forall i, scratch i = ev d (mem p i)) ->
    run n (rest p) (ev d (acc p)) (ev d (idx p)) scratch d = Some (ev d e)) -> right p.
Proof.
  unfold leaf. intros H F R.
  destruct (ask_due (known p) (pol p)) as [v|t] eqn:A; [|injection H as <-; exact (split_sound _ _ F)].
  destruct (decide (known p) (Eq, e, C v)) as [[|]|] eqn:D.
  - intros d Hd S n scratch Hn Hm. rewrite (R d Hd S n scratch Hn Hm).
    apply (ask_due_sound _ d Hd S) in A. apply (decide_sound _ d) in D; [|assumption..].
    cbn [holds rel_val ev] in D. apply N.eqb_eq in D. congruence.
  - destruct (impossible 0 (words (known p))) as [[|]|] eqn:I; [|discriminate|].
    + intros d Hd S. exfalso. exact (impossible_sound _ _ Hd S I).
    + injection H as <-. exact (split_sound _ _ F).
  - injection H as <-. exact (split_sound _ _ F).
Qed.

Lemma operand_val d s x : match s with SK k => k | SX => ev d x end = ev d (operand s x).
Proof. destruct s; reflexivity. Qed.
Lemma skipn_len {T} k (l : list T) n : (length l <= n)%nat -> (length (skipn k l) <= n)%nat.
Proof. intro. rewrite skipn_length. lia. Qed.

Lemma step_sound p l : step p = inl l -> Forall right l -> right p.
Proof.
  destruct p as [K o [|i q] a x m]; [discriminate|]. cbn [step]. intros H F.
  (* A step to one place: the program runs there. *)
  assert (forall q' a' x' m', move K o q' a' x' m' = inl l ->
    (forall d, wf d -> sat K d -> forall n scratch, (length q <= n)%nat -> (forall i, scratch i = ev d (m i)) ->
      exists scratch', (forall i, scratch' i = ev d (m' i)) /\ (length q' <= n)%nat /\
      run (S n) (i :: q) (ev d a) (ev d x) scratch d = run n q' (ev d a') (ev d x') scratch' d) ->
    right (Place K o q' a' x' m') -> right (Place K o (i :: q) a x m)) as Go.
  { intros q' a' x' m' _ E R d Hd S [|n] scratch Hn Hm; cbn [known pol rest acc idx mem length] in *; [lia|].
    destruct (E d Hd S n scratch) as (scratch' & Hm' & Hn' & ->); [lia|exact Hm|]. exact (R d Hd S n scratch' Hn' Hm'). }
  assert (forall q' a' x' m', move K o q' a' x' m' = inl l ->
    right (Place K o q' a' x' m')) as Next.
  { intros q' a' x' m' E. unfold move in E. destruct (max_size <? size a') in E; [discriminate E|]. injection E as <-. exact (Forall_inv F). }
  (* A test that is decided, and one that is not. *)
  assert (forall t, inl (split (Place K o (i :: q) a x m) t) = @inl _ stop l -> right (Place K o (i :: q) a x m)) as Split.
  { intros t E. injection E as <-. exact (split_sound _ _ F). }
  assert (forall r b, forall d, wf d -> sat K d ->
    is_ans (ask_form K (formula r b (C 0))) (rel_val r (ev d b) 0)) as Test0.
  { intros r b d Hd S. change 0 with (ev d (C 0)). rewrite <- formula_sound. apply ask_form_sound; assumption. }
  Ltac one Go Next H := refine (Go _ _ _ _ H _ (Next _ _ _ _ H)); intros d Hd S n scratch Hn Hm.
  Ltac done scratch := exists scratch; repeat split; try assumption.
  destruct i as [w|k|j|k|j|j|j|b s| | | |k|r s jt jf|k| ].
  1-5: one Go Next H; done scratch; cbn [run]; rewrite ?Hm; reflexivity.
  Ltac write_scratch scratch j v Hn Hm := exists (set scratch j v); split; [|split; [exact Hn|reflexivity]];
    let k := fresh in intro k; unfold set; destruct (Nat.eqb k j); auto.
  1: one Go Next H; write_scratch scratch j (ev d a) Hn Hm.
  1: one Go Next H; write_scratch scratch j (ev d x) Hn Hm.
  - assert (forall o', move K o q (mkB o' a (operand s x)) x m = inl l ->
      (forall d, wf d -> sat K d -> b = Div -> ev d (operand s x) <> 0) -> o' = b -> right (Place K o (Alu b s :: q) a x m)) as Op.
    { intros o' E Z ->. one Go Next E. done scratch. cbn [run]. rewrite operand_val, mkB_sound by exact Hd.
      destruct b; try reflexivity. specialize (Z d Hd S eq_refl).
      destruct (N.eqb_spec (ev d (operand s x)) 0); [contradiction|reflexivity]. }
    destruct b; try (apply (Op _ H); [discriminate|reflexivity]).
    pose proof (Test0 Eq (operand s x)) as A. destruct (ask_form K _); [|apply (Op _ H); [|reflexivity]|exact (Split _ H)].
    + refine (leaf_sound _ _ _ H F _). intros d Hd S [|n] scratch Hn Hm; cbn [rest length] in Hn; [lia|].
      specialize (A d Hd S). cbn [is_ans rel_val] in A. cbn [rest acc idx run]. rewrite operand_val, A. reflexivity.
    + intros d Hd S _. specialize (A d Hd S). cbn [is_ans rel_val] in A. apply N.eqb_neq, A.
  - one Go Next H. done scratch. cbn [run]. rewrite mkB_sound by exact Hd. reflexivity.
  - one Go Next H. done scratch.
  - one Go Next H. done scratch.
  - one Go Next H. done scratch. apply skipn_len, Hn.
  - assert (forall d, wf d -> sat K d ->
      is_ans (ask_form K (formula r a (operand s x))) (rel_val r (ev d a) (ev d (operand s x)))) as A.
    { intros d Hd S. rewrite <- formula_sound. apply ask_form_sound; assumption. }
    destruct (ask_form K _); [| |exact (Split _ H)]; one Go Next H; specialize (A d Hd S); cbn [is_ans] in A;
      done scratch; try (apply skipn_len, Hn); cbn [run]; rewrite operand_val, A; reflexivity.
  - refine (leaf_sound _ _ _ H F _). intros d Hd S [|n] scratch Hn Hm; cbn [rest length] in Hn; [lia|]. reflexivity.
  - refine (leaf_sound _ _ _ H F _). intros d Hd S [|n] scratch Hn Hm; cbn [rest length] in Hn; [lia|]. reflexivity.
Qed.

Definition fine (s : search) : Prop := match s with Going l => Forall right l | Done => True | Stopped _ => False end.
Lemma advance_sound s : fine (advance s) -> fine s.
Proof.
  destruct s as [[|p l]| |]; cbn [advance fine]; auto.
  destruct (step p) as [more|] eqn:E; cbn [fine]; [|contradiction]. intro F. apply Forall_app in F. destruct F as [F1 F2].
  constructor; [exact (step_sound p more E F1)|exact F2].
Qed.
Lemma advance_by_sound n : forall s, fine (advance_by n s) -> fine s.
Proof.
  induction n as [|n IH]; intros s F; cbn [advance_by] in F; [exact (advance_sound s F)|].
  apply IH. destruct (advance_by n s); auto.
Qed.

(** * The answer *)

Definition begin (variables : nat) (pol : policy) (p : list insn) : search :=
  Going [Place (nothing (16 + 2 * variables)) (prepare pol) p (C 0) (C 0) (fun _ => C 0)].

Theorem check_sound budget variables (p : list insn) (pol : policy) :
  advance_by budget (begin variables pol p) = Done ->
  forall d, wf d -> run (length p) p 0 0 (fun _ => 0) d = Some (verdict d pol).
Proof.
  intros H d Hd.
  assert (fine (begin variables pol p)) as F by (apply (advance_by_sound budget); rewrite H; exact I).
  rewrite <- (prepare_sound d pol Hd).
  apply Forall_inv in F. exact (F d Hd (nothing_sound _ d Hd) (length p) (fun _ => 0) (le_n _) (fun _ => eq_refl)).
Qed.
