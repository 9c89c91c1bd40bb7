(** The checker: all paths of a program, with what is known of the input on each. *)
From Coq Require Import NArith List Bool Lia.
From Callgate Require Import Spec Know View Decide Ask Clauses Merge.
Import ListNotations.
Open Scope N_scope.

(** A place where two values differ if an input is left: what is known of it, and the hints. *)
Definition difference := (know * list know)%type.
(** Why the search stops: differences were found; a value has too many parts, or is not known; or too many steps. *)
Inductive stop := Differs (d : difference) (others : list difference) | TooComplex | TooLong.

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

(** The bits of two pieces of knowledge, which may contradict each other: those of [k] first. *)
Definition mixed_word (k h : wk) : wk :=
  {| mn := if mn k =? 0 then mn h else mn k; mx := ones; km := N.lor (km k) (km h); kb := N.lor (kb k) (N.ldiff (kb h) (km k)); ex := ex k |}.
Fixpoint mixed (k h : list wk) : list wk :=
  match k, h with a :: k, b :: h => mixed_word a b :: mixed k h | k, _ => k end.
(** A hint with the result of a test. If it contradicts what is known of a word, the path is another one up to there: the newest
    bits count. *)
Definition with_result (t : tst) (b : bool) (h : know) : know :=
  match learn h t b with
  | Some h => h
  | None => Knowing (mixed (words (suppose (FT t) b (nothing (length (words h))))) (words h)) (facts h)
  end.
Definition with_results (t : tst) (b : bool) (l : list know) : list know :=
  match flat_map (fun h => match learn h t b with Some h => [h] | None => [] end) l with
  | [] => map (with_result t b) l
  | l => l
  end.
(** The same place, for both results of a test. *)
Definition split (how : option way) (p : place) (t : tst) : list place :=
  let branch b := match learn (known p) t b with
    | Some K =>
      [Place K (after_split how K (pol p)) (rest p) (notes p) (acc p) (idx p) (mem p) (with_results t b (hints p))]
    | None => [] end in
  branch true ++ branch false.
(** A return of [e]. *)
Definition leaf (how : option way) (p : place) (e : sexp) : list place + stop :=
  let K := known p in
  match (match e with C v => due_gives K v (pol p) | _ => inl false end) with
  | inl true => inl []
  | inr t => inl (split how p (choose K t))
  | inl false =>
    match ask_due K (pol p) with
    | inr t => inl (split how p (choose K t))
    | inl v =>
      match decide K (Eq, e, C v) with
      | Some true => inl []
      | Some false =>
        match impossible 0 (words K) with
        | inl true => inl [] | inl false => inr (Differs (K, hints p) [])
        | inr t => inl (split how p t) end
      | None => inl (split how p (choose K (Eq, e, C v)))
      end
    end
  end.
Definition operand (s : src) (x : option sexp) : option sexp := match s with SK k => Some (C k) | SX => x end.
Definition max_size : N := 200.

(** The place behind the next instruction and [k] more. Values become large only in A. *)
Definition move_with (p : place) (due : due) (k : nat) (a : sexp) (x : option sexp) (m : list (nat * sexp)) : list place + stop :=
  if max_size <? size a then inr TooComplex
  else inl [Place (known p) due (skipn k (tl (rest p))) (skipn k (tl (notes p))) a x m (hints p)].
Definition move (p : place) := move_with p (pol p).
Definition given (e : option sexp) (f : sexp -> list place + stop) : list place + stop :=
  match e with Some e => f e | None => inr TooComplex end.

Definition step (how : option way) (p : place) : list place + stop :=
  let '(Place K due l _ a x m _) := p in
  match l with
  | [] => inr TooComplex
  | i :: _ =>
    match i with
    | LdAbs w => move p 0 (Wd w) x m
    | LdImm k => move p 0 (C k) x m
    | LdMem i => given (scratch m i) (fun a => move p 0 a x m)
    | LdxImm k => move p 0 a (Some (C k)) m
    | LdxMem i => given (scratch m i) (fun x => move p 0 a (Some x) m)
    | St i => move p 0 a x ((i, a) :: m)
    | Stx i => given x (fun e => move p 0 a x ((i, e) :: m))
    | Alu o s => given (operand s x) (fun b =>
      match o with
      | Div => match ask_form K (formula Eq b (C 0)) with
        | Yes => leaf how p (C 0)
        | No => move p 0 (mkB Div a b) x m
        | Ask t => inl (split how p (choose K t))
        end
      | _ => move p 0 (mkB o a b) x m
      end)
    | Neg => move p 0 (mkB Sub (C 0) a) x m
    | Ja k => move p k a x m
    | Jmp r s jt jf => given (operand s x) (fun b =>
      let f := formula r a b in
      match ask_form K f with
      | Yes => move_with p (after_jump how K f true due) jt a x m
      | No => move_with p (after_jump how K f false due) jf a x m
      | Ask t => inl (split how p (choose K t))
      end)
    | RetK k => leaf how p (C k)
    | RetA => leaf how p a
    | Tax => move p 0 a (Some a) m
    | Txa => given x (fun a => move p 0 a x m)
    end
  end.

(** * The search *)

(** The places that are left, those to continue from later, how many steps there may be, and the differences that were found; all
    are done; or the search has stopped. *)
Inductive search := Going (l : list place) (after : later) (steps : N) (found : list difference) | Done | Stopped (s : stop).
(** A difference may be one of inputs that take another path, because knowledge was forgotten. So the search goes on for some
    steps, to find others. *)
Definition more_steps : N := 1024.
Definition max_found : nat := 12.
Definition stopped (found : list difference) (otherwise : search) : search :=
  match found with d :: others => Stopped (Differs d others) | [] => otherwise end.
(** Whether paths are expected to meet behind the next instruction: it loads an argument, and the policy is about one syscall. *)
Definition meets (p : place) : bool :=
  match rest p with LdAbs w :: _ => Nat.leb 2 w && mergeable (pol p) | _ => false end.
Definition merge (how : way) (l : list place) (after : later) : later :=
  fold_left (fun after p =>
    let p := forget how p in postpone p (match notes p with n :: _ => left_ n | [] => 0 end) after) l after.
(** Without a [way], paths are followed one by one. *)
Definition advance (how : option way) (s : search) : search :=
  match s with
  | Going l after steps found =>
    if steps =? 0 then stopped found (Stopped TooLong) else
    let steps := steps - 1 in
    match l, after with
    | [], [] => stopped found Done
    | [], (_, l) :: after => Going l after steps found
    | p :: l, _ =>
      match step how p with
      | inr (Differs d _) => Going l after (if Nat.leb max_found (length found) then 0 else N.min steps more_steps) (d :: found)
      | inr s => stopped found (Stopped s)
      | inl more =>
        match (if meets p then how else None) with
        | Some how => Going l (merge how more after) steps found
        | None => Going (more ++ l) after steps found
        end
      end
    end
  | s => s
  end.
(** At most 2^n steps. *)
Fixpoint advance_by (how : option way) (n : nat) (s : search) : search :=
  match n with
  | O => advance how s
  | S n => match advance_by how n s with Going _ _ _ _ as s => advance_by how n s | s => s end
  end.

(** * Soundness *)

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

Lemma split_sound how p t : Forall right (split how p t) -> right p.
Proof.
  intros F d Hd S. unfold split in F. apply Forall_app in F. destruct F as [F1 F2].
  destruct (learn_sound (known p) d t Hd S) as [K [L S']].
  destruct (holds d t); rewrite L in *;
    [apply Forall_inv in F1; specialize (F1 d Hd S')|apply Forall_inv in F2; specialize (F2 d Hd S')];
    cbn [pol] in *; rewrite (after_split_sound _ _ _ _ Hd S') in *; assumption.
Qed.
(** A place from which a program returns [e] is right if [leaf] says so. *)
Lemma leaf_sound how p e l : leaf how p e = inl l -> Forall right l ->
  (forall d, wf d -> sat (known p) d -> forall n x s, (length (rest p) <= n)%nat -> is_value d (idx p) x -> is_mem d (mem p) s ->
    run n (rest p) (ev d (acc p)) x s d = Some (ev d e)) -> right p.
Proof.
  unfold leaf. intros H F R.
  destruct (match e with C v => due_gives (known p) v (pol p) | _ => inl false end) as [[|]|t] eqn:G;
    [|clear G|injection H as <-; exact (split_sound _ _ _ F)].
  { destruct e as [v| |]; try discriminate. intros d Hd S n x s Hn Hx Hm. rewrite (R d Hd S n x s Hn Hx Hm).
    rewrite (due_gives_sound _ d Hd S _ _ G). reflexivity. }
  destruct (ask_due (known p) (pol p)) as [v|t] eqn:A; [|injection H as <-; exact (split_sound _ _ _ F)].
  destruct (decide (known p) (Eq, e, C v)) as [[|]|] eqn:D.
  - intros d Hd S n x s Hn Hx Hm. rewrite (R d Hd S n x s Hn Hx Hm).
    apply (ask_due_sound _ d Hd S) in A. apply (decide_sound _ d) in D; [|assumption..].
    cbn [holds rel_val ev] in D. apply N.eqb_eq in D. congruence.
  - destruct (impossible 0 (words (known p))) as [[|]|] eqn:I; [|discriminate|].
    + intros d Hd S. exfalso. exact (impossible_sound _ _ Hd S I).
    + injection H as <-. exact (split_sound _ _ _ F).
  - injection H as <-. exact (split_sound _ _ _ F).
Qed.

Lemma operand_sound d s x v e : is_value d x v -> operand s x = Some e -> match s with SK k => k | SX => v end = ev d e.
Proof. destruct s; cbn [operand]; intros V E; [injection E as <-; reflexivity|]. subst x. exact V. Qed.
Lemma is_mem_set d m s i e v : is_mem d m s -> v = ev d e -> is_mem d ((i, e) :: m) (set s i v).
Proof. intros M -> j. cbn [scratch]. unfold set. destruct (Nat.eqb j i); [reflexivity|apply M]. Qed.
Lemma skipn_len {T} k (l : list T) n : (length l <= n)%nat -> (length (skipn k l) <= n)%nat.
Proof. intro. rewrite skipn_length. lia. Qed.

(** A step to one place: the program runs there. *)
Lemma move_sound p due i q k a x m l : rest p = i :: q -> move_with p due k a x m = inl l -> Forall right l ->
  (forall d, wf d -> sat (known p) d -> due_val d due = due_val d (pol p)) ->
  (forall d, wf d -> sat (known p) d -> forall v s, is_value d (idx p) v -> is_mem d (mem p) s ->
    exists v' s', is_value d x v' /\ is_mem d m s' /\
    forall n, run (S n) (i :: q) (ev d (acc p)) v s d = run n (skipn k q) (ev d a) v' s' d) ->
  right p.
Proof.
  intros Er E F D R d Hd S n v s Hn Hx Hm. rewrite Er in *. cbn [length] in Hn. destruct n as [|n]; [lia|].
  unfold move_with in E. destruct (max_size <? size a); [discriminate|]. injection E as <-. apply Forall_inv in F.
  destruct (R d Hd S v s Hx Hm) as (v' & s' & X & M & ->).
  rewrite Er in F. rewrite <- (D d Hd S). exact (F d Hd S n v' s' ltac:(cbn [tl rest]; apply skipn_len; lia) X M).
Qed.

Lemma step_sound how p l : step how p = inl l -> Forall right l -> right p.
Proof.
  destruct p as [K o [|i q] ns a x m h]; [discriminate|]. cbn [step]. intros H F.
  set (p := Place K o (i :: q) ns a x m h) in *.
  assert (forall t, inl (split how p t) = @inl _ stop l -> right p) as Split.
  { intros t E. injection E as <-. exact (split_sound _ _ _ F). }
  (* Instructions that only set registers. *)
  Ltac simple p H F := refine (move_sound p _ _ _ _ _ _ _ _ eq_refl H F (fun _ _ _ => eq_refl) _); intros d Hd S v s Hx Hm;
    exists v, s; split; [exact Hx|split; [exact Hm|]].
  destruct i as [w|k|j|k|j|j|j|b s'| | | |k|r s' jt jf|k| ].
  - simple p H F. reflexivity.
  - simple p H F. reflexivity.
  - destruct (scratch m j) as [e|] eqn:E; [|discriminate]. simple p H F. intro n. cbn [run].
    pose proof (Hm j) as J. cbn [mem p] in J. rewrite E in J. cbn [is_value] in J. rewrite J. reflexivity.
  - refine (move_sound p _ _ _ _ _ _ _ _ eq_refl H F (fun _ _ _ => eq_refl) _). intros d Hd S v s Hx Hm.
    exists k, s. split; [reflexivity|split; [exact Hm|reflexivity]].
  - destruct (scratch m j) as [e|] eqn:E; [|discriminate].
    refine (move_sound p _ _ _ _ _ _ _ _ eq_refl H F (fun _ _ _ => eq_refl) _). intros d Hd S v s Hx Hm. exists (s j), s.
    pose proof (Hm j) as J. cbn [mem p] in J. rewrite E in J.
    split; [exact J|split; [exact Hm|reflexivity]].
  - refine (move_sound p _ _ _ _ _ _ _ _ eq_refl H F (fun _ _ _ => eq_refl) _). intros d Hd S v s Hx Hm.
    exists v, (set s j (ev d a)). split; [exact Hx|split; [apply is_mem_set; [exact Hm|reflexivity]|reflexivity]].
  - destruct x as [e|]; [|discriminate]. refine (move_sound p _ _ _ _ _ _ _ _ eq_refl H F (fun _ _ _ => eq_refl) _). intros d Hd S v s Hx Hm.
    exists v, (set s j v). split; [exact Hx|split; [apply is_mem_set; [exact Hm|exact Hx]|reflexivity]].
  - destruct (operand s' x) as [e|] eqn:O; [|discriminate]. cbn [given] in H.
    assert (forall o', move p 0 (mkB o' a e) x m = inl l ->
      (forall d, wf d -> sat K d -> b = Div -> ev d e <> 0) -> o' = b -> right p) as Op.
    { intros o' E Z ->. simple p E F. intro n. cbn [run acc p]. rewrite (operand_sound d s' x v e Hx O), mkB_sound by exact Hd.
      destruct b; try reflexivity. specialize (Z d Hd S eq_refl). destruct (N.eqb_spec (ev d e) 0); [contradiction|reflexivity]. }
    assert (forall d, wf d -> sat K d -> is_ans (ask_form K (formula Eq e (C 0))) (ev d e =? 0)) as A.
    { intros d Hd S. change (ev d e =? 0) with (rel_val Eq (ev d e) (ev d (C 0))). rewrite <- formula_sound.
      apply ask_form_sound; assumption. }
    destruct b; try (apply (Op _ H); [discriminate|reflexivity]).
    destruct (ask_form K _); [|apply (Op _ H); [|reflexivity]|exact (Split _ H)].
    + refine (leaf_sound how _ _ _ H F _). intros d Hd S [|n] v s Hn Hx Hm; cbn [rest p length] in Hn; [lia|].
      specialize (A d Hd S). cbn [is_ans] in A. cbn [rest acc p run]. rewrite (operand_sound d s' x v e Hx O), A. reflexivity.
    + intros d Hd S _. specialize (A d Hd S). cbn [is_ans] in A. apply N.eqb_neq, A.
  - simple p H F. intro n. cbn [run acc p]. rewrite mkB_sound by exact Hd. reflexivity.
  - refine (move_sound p _ _ _ _ _ _ _ _ eq_refl H F (fun _ _ _ => eq_refl) _). intros d Hd S v s Hx Hm. exists (ev d a), s. split; [reflexivity|split; [exact Hm|reflexivity]].
  - destruct x as [e|]; [|discriminate]. simple p H F. intro n. cbn [run]. cbn [idx p is_value] in Hx. rewrite Hx. reflexivity.
  - simple p H F. reflexivity.
  - destruct (operand s' x) as [e|] eqn:O; [|discriminate]. cbn [given] in H.
    assert (forall d, wf d -> sat K d -> is_ans (ask_form K (formula r a e)) (rel_val r (ev d a) (ev d e))) as A.
    { intros d Hd S. rewrite <- formula_sound. apply ask_form_sound; assumption. }
    destruct (ask_form K _); [| |exact (Split _ H)]; (refine (move_sound p _ _ _ _ _ _ _ _ eq_refl H F _ _);
      [intros d Hd S; apply after_jump_sound; [exact Hd|rewrite formula_sound; exact (A d Hd S)]|];
      intros d Hd S v s Hx Hm; exists v, s; split; [exact Hx|split; [exact Hm|]]; intro n; specialize (A d Hd S);
      cbn [is_ans] in A; cbn [run acc p]; rewrite (operand_sound d s' x v e Hx O), A; reflexivity).
  - refine (leaf_sound how _ _ _ H F _). intros d Hd S [|n] v s Hn Hx Hm; cbn [rest p length] in Hn; [lia|]. reflexivity.
  - refine (leaf_sound how _ _ _ H F _). intros d Hd S [|n] v s Hn Hx Hm; cbn [rest p length] in Hn; [lia|]. reflexivity.
Qed.

Definition fine (s : search) : Prop :=
  match s with Going l after _ [] => Forall right l /\ all_right after | Done => True | _ => False end.
Lemma merge_sound how l : forall after, all_right (merge how l after) -> Forall right l /\ all_right after.
Proof.
  unfold merge. induction l as [|p l IH]; intros after F; [split; [constructor|exact F]|]. cbn [fold_left] in F.
  destruct (IH _ F) as [L A]. destruct (postpone_sound _ _ _ A) as [R A'].
  split; [constructor; [exact (forget_right _ _ R)|exact L]|exact A'].
Qed.
Lemma advance_sound how s : fine (advance how s) -> fine s.
Proof.
  destruct s as [l after n found| |]; cbn [advance fine]; auto. destruct found as [|d found].
  2: { destruct (n =? 0), l as [|p l], after as [|[m l'] after]; cbn [stopped fine]; auto;
       destruct (step how p) as [more|[]]; cbn [stopped fine]; auto; destruct (if meets p then how else None); auto. }
  destruct (n =? 0); [contradiction|]. destruct l as [|p l].
  - destruct after as [|[m l] after]; cbn [stopped fine].
    + intros _. split; constructor.
    + intros [L A]. split; [constructor|constructor; assumption].
  - destruct (step how p) as [more|[]] eqn:E; cbn [stopped fine]; try contradiction.
    destruct (if meets p then how else None) as [w|]; cbn [fine]; intros [L A].
    + destruct (merge_sound _ _ _ A) as [M A']. split; [constructor; [exact (step_sound how p more E M)|exact L]|exact A'].
    + apply Forall_app in L. destruct L as [M L]. split; [constructor; [exact (step_sound how p more E M)|exact L]|exact A].
Qed.
Lemma advance_by_sound how n : forall s, fine (advance_by how n s) -> fine s.
Proof.
  induction n as [|n IH]; intros s F; cbn [advance_by] in F; [exact (advance_sound how s F)|].
  apply IH. destruct (advance_by how n s); auto.
Qed.

(** * The answer *)

Definition begin (variables : nat) (pol : policy) (p : list insn) (how : option way) : place :=
  let due := prepare (match how with Some _ => expand | None => fun l => l end) pol in
  Place (nothing (16 + 2 * variables)) due p (notes_of p) (C 0) (Some (C 0)) [] [].
(** What the search finds in this many steps. *)
Definition find_out (how : option way) (steps : N) (p : place) : search := advance_by how 24 (Going [p] [] steps []).

(** So that Coq does not run the search when it compares terms. *)
Strategy 1000 [advance_by].
Lemma advance_by_right how n steps p : advance_by how n (Going [p] [] steps []) = Done -> right p.
Proof.
  intro H. pose proof (advance_by_sound how n (Going [p] [] steps [])) as G. rewrite H in G. exact (Forall_inv (proj1 (G I))).
Qed.

Theorem check_sound how steps variables (p : list insn) (pol : policy) :
  find_out how steps (begin variables pol p how) = Done ->
  forall d, wf d -> run (length p) p 0 0 (fun _ => 0) d = Some (verdict d pol).
Proof.
  intros H d Hd. apply advance_by_right in H. unfold begin in H. revert H.
  set (g := match how with Some _ => expand | None => fun l => l end).
  assert (forall l def, clauses_val d (g l) def = clauses_val d l def) as G.
  { intros l def. unfold g. destruct how; [apply expand_sound, Hd|reflexivity]. }
  rewrite <- (prepare_sound d g pol Hd G). generalize (prepare g pol). intros due R.
  exact (R d Hd (nothing_sound _ d Hd) (length p) 0 (fun _ => 0) (le_n _) eq_refl (fun _ => I)).
Qed.
