(** A printer of policies, and the theorem that the parser reads what it prints: the grammar is not ambiguous, and each policy
    has a text. The printer is not part of the checker; Callgate's own writer adds comments. *)
From Coq Require Import NArith List Bool Ascii String Lia.
From Callgate Require Import Spec Text Ask.
Import ListNotations.
Open Scope N_scope.
Open Scope list_scope.

(** * The printer *)

Fixpoint hex (digits : nat) (n : N) : word :=
  match digits with
  | O => []
  | S k => let d := n / 16 ^ N.of_nat k mod 16 in (if d <? 10 then 48 + d else 87 + d) :: hex k n
  end.
Definition show32 (n : N) : word := 48 :: 120 :: hex 8 n.
Definition show64 (n : N) : word := 48 :: 120 :: hex 16 n.

Definition same_operand (x y : operand) : bool :=
  match x, y with
  | Const m, Const n => m =? n
  | Wide l h, Wide l' h' => Nat.eqb l l' && Nat.eqb h h'
  | Low l, Low l' => Nat.eqb l l'
  | _, _ => false
  end.
Definition show_operand (n : names) (x : operand) : word :=
  match find (fun p => same_operand (snd p) x) n with
  | Some (name, _) => name
  | None => match x with Const k => show64 k | _ => [] end
  end.
Definition show_cmp (c : cmp) : word :=
  match c with
  | CEq => w "==" | CNe => w "!=" | CLt => w "<" | CLe => w "<=" | CGt => w ">" | CGe => w ">=" end.
Definition show_test (n : names) (t : test) : list word :=
  show_operand n (left t) :: flat_map (fun m => [w "&"; show_operand n m]) (masks t)
  ++ [show_cmp (op t); show_operand n (right t)].
Fixpoint show_cond (n : names) (c : cond) : list (list word) :=
  match c with
  | Is t => [show_test n t]
  | All l => [w "all"] :: flat_map (show_cond n) l ++ [[w "end"]]
  | Any l => [w "any"] :: flat_map (show_cond n) l ++ [[w "end"]]
  end.
Definition show_rule (n : names) (r : rule) : list (list word) :=
  [w "rule"; show32 (returns r)]
  :: map (fun i => [w "nr"; show32 (fst i); w "-"; show32 (snd i)]) (numbers r)
  ++ flat_map (show_cond n) (conditions r).
Definition show_section (n : names) (s : section) : list (list word) :=
  [w "arch"; show32 (token s); show32 (default s)] :: flat_map (show_rule n) (rules s).
Definition show_filter (n : names) (f : filter) : list (list word) :=
  [w "filter"; show32 (other f)] :: flat_map (show_section n) (sections f).
Definition show_policy (n : names) (p : policy) : list (list word) :=
  match p with One f => show_filter n f | Stack l => [w "stack"] :: flat_map (show_filter n) l end.
(** Variables: names, and whether they have 64 bits. *)
Definition show_variable (v : word * bool) : list word := [w "variable"; fst v; if snd v then w "64" else w "32"].
Fixpoint names_of (variables : list (word * bool)) (i : nat) (n : names) : names :=
  match variables with
  | [] => n
  | (name, wide) :: l =>
    names_of l (S i) ((w "$" ++ name, if wide then Wide (16 + 2 * i) (17 + 2 * i) else Low (16 + 2 * i)) :: n)
  end.
Definition show_order (o : order) : word := match o with Little => w "little" | Big => w "big" end.
Definition lines_of (o : order) (variables : list (word * bool)) (p : policy) : list (list word) :=
  [w "callgate-policy"; w "1"] :: [w "byte-order"; show_order o] :: map show_variable variables
  ++ show_policy (names_of variables 0 [] ++ fields o) p.
Definition print_line (line : list word) : list N := flat_map (fun x => x ++ [32]) line ++ [10].
Definition print (o : order) (variables : list (word * bool)) (p : policy) : list N :=
  flat_map print_line (lines_of o variables p).

(** * Which policies have a text *)

Definition clean (x : word) : bool :=
  match x with [] => false | _ => forallb (fun b => negb ((b =? 10) || (b =? 32) || (b =? 35))) x end.
Definition keywords := map w ["end"; "all"; "any"; "nr"; "rule"; "arch"; "filter"; "stack"; "variable"]%string.
(** The operand has a name, or is a constant below 2^64. *)
Definition ok_operand (n : names) (x : operand) : bool :=
  let name := show_operand n x in
  clean name && negb (existsb (is name) keywords)
  && match operand_of n name with Some y => same_operand x y | None => false end.
Definition ok_test (n : names) (t : test) : bool :=
  ok_operand n (left t) && forallb (ok_operand n) (masks t) && ok_operand n (right t).
Fixpoint ok_cond (n : names) (depth : nat) (c : cond) : bool :=
  match c, depth with
  | Is t, _ => ok_test n t
  | _, O => false
  | (All l | Any l), S depth => forallb (ok_cond n depth) l
  end.
Definition ok32 (n : N) : bool := n <? W.
Definition ok_rule (n : names) (r : rule) : bool :=
  ok32 (returns r) && forallb (fun i => ok32 (fst i) && ok32 (snd i)) (numbers r)
  && forallb (ok_cond n max_depth) (conditions r).
Definition ok_section (n : names) (s : section) : bool :=
  ok32 (token s) && ok32 (default s) && forallb (ok_rule n) (rules s).
Definition ok_filter (n : names) (f : filter) : bool := ok32 (other f) && forallb (ok_section n) (sections f).
Definition ok_policy (n : names) (p : policy) : bool :=
  match p with One f => ok_filter n f | Stack l => Nat.leb 2 (List.length l) && forallb (ok_filter n) l end.
Definition ok (o : order) (variables : list (word * bool)) (p : policy) : bool :=
  forallb (fun v => clean (fst v)) variables && ok_policy (names_of variables 0 [] ++ fields o) p.

(** * Numbers *)

Lemma digit_hex d : d < 16 -> digit (if d <? 10 then 48 + d else 87 + d) = d.
Proof.
  intro H. unfold digit. destruct (N.ltb_spec d 10).
  - destruct (N.leb_spec 48 (48 + d)), (N.leb_spec (48 + d) 57); cbn [andb]; lia.
  - destruct (N.leb_spec 48 (87 + d)), (N.leb_spec (87 + d) 57); cbn [andb]; try lia;
      destruct (N.leb_spec 97 (87 + d)), (N.leb_spec (87 + d) 102); cbn [andb]; lia.
Qed.
Lemma digits_hex limit k : forall n a, a * 16 ^ N.of_nat k + n mod 16 ^ N.of_nat k < limit ->
  fold_left (fun n b => match n with
    | Some n => let n := 16 * n + digit b in if (digit b <? 16) && (n <? limit) then Some n else None
    | None => None end) (hex k n) (Some a) = Some (a * 16 ^ N.of_nat k + n mod 16 ^ N.of_nat k).
Proof.
  induction k as [|k IH]; intros n a L; cbn [hex fold_left].
  - rewrite N.mod_1_r, N.mul_1_r, N.add_0_r. reflexivity.
  - pose proof (N.mod_lt (n / 16 ^ N.of_nat k) 16 ltac:(discriminate)) as D.
    assert (n mod 16 ^ N.of_nat (S k) = n mod 16 ^ N.of_nat k + 16 ^ N.of_nat k * (n / 16 ^ N.of_nat k mod 16)) as E.
    { rewrite Nnat.Nat2N.inj_succ, N.pow_succ_r', N.mul_comm. apply N.mod_mul_r; [apply N.pow_nonzero|]; discriminate. }
    rewrite E, Nnat.Nat2N.inj_succ, N.pow_succ_r' in *. rewrite digit_hex by exact D.
    set (d := n / 16 ^ N.of_nat k mod 16) in *. set (r := n mod 16 ^ N.of_nat k) in *.
    assert (16 ^ N.of_nat k <> 0) as P by (apply N.pow_nonzero; discriminate). set (p := 16 ^ N.of_nat k) in *.
    assert (16 * a + d < limit) by nia.
    destruct (N.ltb_spec d 16); [|lia]. destruct (N.ltb_spec (16 * a + d) limit); [|lia]. cbn [andb].
    rewrite IH; unfold r, p in *; [f_equal|]; lia.
Qed.
Lemma num32_show n : ok32 n = true -> num32 (show32 n) = Some n.
Proof.
  unfold ok32. intro H. apply N.ltb_lt in H.
  assert (n mod 16 ^ N.of_nat 8 = n) as E by (apply N.mod_small; exact H).
  unfold num32, num, show32, digits. pose proof (digits_hex W 8 n 0) as D. rewrite E, N.mul_0_l, N.add_0_l in D.
  specialize (D H). remember (hex 8 n) as h. destruct h; [discriminate|exact D].
Qed.

(** * Words and lines *)

Lemma is_true a : forall b, is a b = true <-> a = b.
Proof.
  induction a as [|x a IH]; intros [|y b]; cbn [is]; try (split; (discriminate || reflexivity)).
  rewrite andb_true_iff, N.eqb_eq, IH. split; [intros [-> ->]; reflexivity|intro E; injection E; auto].
Qed.

Definition fr (s : lexer) (text : list N) : lexer := fold_right (fun b s => lex_byte s b) s text.
Lemma lex_word x : clean x = true -> forall l ws ls, fr (Lexer l ws ls) x = Lexer (x ++ l) ws ls.
Proof.
  intro H. assert (forallb (fun b => negb ((b =? 10) || (b =? 32) || (b =? 35))) x = true) as F
    by (destruct x; [discriminate|exact H]). clear H.
  intros l ws ls. induction x as [|b x IH]; [reflexivity|]. cbn [forallb] in F. apply andb_true_iff in F. destruct F as [B F].
  cbn [fr fold_right]. fold (fr (Lexer l ws ls) x). rewrite (IH F). cbn [app].
  apply negb_true_iff, orb_false_iff in B. destruct B as [B B3]. apply orb_false_iff in B. destruct B as [B1 B2].
  apply N.eqb_neq in B1, B2, B3. unfold lex_byte. cbn [letters words lines].
  repeat (destruct b as [|b]; try reflexivity; try contradiction);
  repeat (match goal with |- context [match ?q with xI _ => _ | xO _ => _ | xH => _ end] => destruct q; try reflexivity; try contradiction end).
Qed.
Definition clean_line (line : list word) : bool := match line with [] => false | _ => forallb clean line end.
Lemma lex_words line : forallb clean line = true -> forall ls,
  fr (Lexer [] [] ls) (flat_map (fun x => x ++ [32]) line) =
  match line with [] => Lexer [] [] ls | x :: l => Lexer x l ls end.
Proof.
  induction line as [|x l IH]; intros H ls; [reflexivity|]. cbn [forallb] in H. apply andb_true_iff in H. destruct H as [X H].
  cbn [flat_map]. unfold fr. rewrite !fold_right_app. fold (fr (Lexer [] [] ls) (flat_map (fun x => x ++ [32]) l)).
  rewrite (IH H). cbn [fold_right].
  assert (lex_byte match l with [] => Lexer [] [] ls | y :: k => Lexer y k ls end 32 = Lexer [] l ls) as ->.
  { destruct l as [|y k]; [reflexivity|]. cbn [forallb] in H. apply andb_true_iff in H. destruct H as [Y _].
    destruct y; [discriminate|reflexivity]. }
  fold (fr (Lexer [] l ls) x). rewrite (lex_word x X). rewrite app_nil_r. reflexivity.
Qed.
Lemma lex_print l : forallb clean_line l = true -> l <> [] -> lex (flat_map print_line l) = l ++ [[]].
Proof.
  intros H N. unfold lex. rewrite rev_append_rev, app_nil_r, <- fold_left_rev_right, rev_involutive.
  fold (fr (Lexer [] [] []) (flat_map print_line l)).
  assert (fr (Lexer [] [] []) (flat_map print_line l) =
    match l with (x :: line) :: l => Lexer x line (l ++ [[]]) | _ => Lexer [] [] [] end) as ->.
  { clear N. induction l as [|line l IH]; [reflexivity|]. cbn [forallb] in H. apply andb_true_iff in H. destruct H as [L H].
    cbn [flat_map]. unfold fr, print_line at 1. rewrite !fold_right_app.
    fold (fr (Lexer [] [] []) (flat_map print_line l)). rewrite (IH H). cbn [fold_right].
    assert (lex_byte match l with (x :: line) :: l => Lexer x line (l ++ [[]]) | _ => Lexer [] [] [] end 10 =
      Lexer [] [] (l ++ [[]])) as ->.
    { destruct l as [|[|y k] l]; [reflexivity|discriminate|]. cbn [forallb clean_line] in H.
      apply andb_true_iff in H. destruct H as [H _]. apply andb_true_iff in H. destruct H as [Y _].
      destruct y; [discriminate|reflexivity]. }
    destruct line as [|x line]; [discriminate|]. exact (lex_words (x :: line) L _). }
  destruct l as [|[|x line] l]; [contradiction|discriminate|]. cbn [letters words lines].
  cbn [forallb clean_line] in H. apply andb_true_iff in H. destruct H as [H _]. apply andb_true_iff in H. destruct H as [X _].
  destruct x; [discriminate|reflexivity].
Qed.

Fixpoint numbered (i : N) (l : list (list word)) : list (N * list word) :=
  match l with [] => [] | x :: l => (i, x) :: numbered (i + 1) l end.
Lemma number_lines_app l : forallb clean_line l = true -> forall i done,
  number_lines i (l ++ [[]]) done = rev (numbered i l) ++ done.
Proof.
  induction l as [|x l IH]; intros H i done; [reflexivity|]. cbn [forallb] in H. apply andb_true_iff in H. destruct H as [X H].
  cbn [app number_lines numbered rev]. destruct x; [discriminate|]. rewrite (IH H), <- app_assoc. reflexivity.
Qed.

(** * Rules *)

Lemma same_operand_eq x y : same_operand x y = true -> x = y.
Proof.
  destruct x, y; cbn [same_operand]; try discriminate; rewrite ?andb_true_iff, ?N.eqb_eq, ?PeanoNat.Nat.eqb_eq;
    intuition congruence.
Qed.
Ltac split_and := repeat match goal with H : _ && _ = true |- _ => apply andb_true_iff in H; destruct H end.

Section Names.
Variable n : names.

Lemma operand_show x : ok_operand n x = true -> operand_of n (show_operand n x) = Some x.
Proof.
  unfold ok_operand. intro H. split_and. destruct (operand_of _ _) as [y|]; [|discriminate].
  apply same_operand_eq in H0. congruence.
Qed.
Lemma test_show x ms : forall done c y, forallb (ok_operand n) ms = true -> ok_operand n y = true ->
  test_of n x done (flat_map (fun m => [w "&"; show_operand n m]) ms ++ [show_cmp c; show_operand n y])
  = Some (Test x (rev done ++ ms) c y).
Proof.
  induction ms as [|m ms IH]; intros done c y H Y.
  - cbn [flat_map app test_of]. rewrite (operand_show y Y), app_nil_r. destruct c; reflexivity.
  - cbn [forallb] in H. split_and. cbn [flat_map app]. specialize (IH (m :: done) c y).
    replace (rev done ++ m :: ms) with (rev (m :: done) ++ ms) by (cbn [rev]; rewrite <- app_assoc; reflexivity).
    rewrite <- IH by assumption. destruct ms as [|m' ms]; cbn [flat_map app test_of];
      rewrite (operand_show m) by assumption; reflexivity.
Qed.

(** Reads lines from the last to the first. *)
Definition back (l : list (list word)) (s : state) : option state :=
  fold_right (fun line s => match s with Some s => line_of n line s | None => None end) (Some s) l.
Lemma back_app a b s : back (a ++ b) s = match back b s with Some s => back a s | None => None end.
Proof.
  unfold back. rewrite fold_right_app. destruct (fold_right _ (Some s) b) as [t|]; [reflexivity|].
  induction a as [|x a IH]; [reflexivity|]. cbn [fold_right]. rewrite IH. reflexivity.
Qed.
Lemma back_cons x b s : back (x :: b) s = match back b s with Some s => line_of n x s | None => None end.
Proof. reflexivity. Qed.

Lemma line_test t l outer nrs rs ss fs : ok_test n t = true ->
  line_of n (show_test n t) (State (l :: outer) nrs rs ss fs) = Some (State ((Is t :: l) :: outer) nrs rs ss fs).
Proof.
  intro H. unfold ok_test in H. split_and. unfold show_test. pose proof (operand_show _ H) as O.
  unfold ok_operand in H. split_and. apply negb_true_iff in H3.
  change keywords with [w "end"; w "all"; w "any"; w "nr"; w "rule"; w "arch"; w "filter"; w "stack"; w "variable"] in H3.
  remember (show_operand n (left t)) as k eqn:K. cbn [existsb] in H3. repeat (apply orb_false_iff in H3; destruct H3 as [? H3]).
  unfold line_of. repeat match goal with E : is k _ = false |- _ => rewrite E; clear E end.
  rewrite O, (test_show (left t) (masks t) []) by assumption. destruct t; reflexivity.
Qed.

Definition reads (c : cond) : Prop := forall depth l outer nrs rs ss fs, ok_cond n depth c = true ->
  (List.length (l :: outer) + depth <= S max_depth)%nat ->
  back (show_cond n c) (State (l :: outer) nrs rs ss fs) = Some (State ((c :: l) :: outer) nrs rs ss fs).
Lemma back_conds cs : Forall reads cs -> forall depth l outer nrs rs ss fs, forallb (ok_cond n depth) cs = true ->
  (List.length (l :: outer) + depth <= S max_depth)%nat ->
  back (flat_map (show_cond n) cs) (State (l :: outer) nrs rs ss fs) = Some (State ((cs ++ l) :: outer) nrs rs ss fs).
Proof.
  induction 1 as [|c cs R F IH]; intros depth l outer nrs rs ss fs H D; [reflexivity|].
  cbn [forallb] in H. split_and. cbn [flat_map]. rewrite back_app, (IH depth) by assumption. apply (R depth); assumption.
Qed.
Lemma line_end l outer nrs rs ss fs : (List.length (l :: outer) <= max_depth)%nat ->
  line_of n [w "end"] (State (l :: outer) nrs rs ss fs) = Some (State ([] :: l :: outer) nrs rs ss fs).
Proof.
  intro H. apply PeanoNat.Nat.leb_le in H. change (line_of n [w "end"] (State (l :: outer) nrs rs ss fs)) with
    (if Nat.leb (List.length (l :: outer)) max_depth then Some (State ([] :: l :: outer) nrs rs ss fs) else None).
  rewrite H. reflexivity.
Qed.
Lemma back_cond c : reads c.
Proof.
  induction c as [t|cs IH|cs IH] using cond_all; intros [|depth] l outer nrs rs ss fs H D; try discriminate;
    try (apply line_test, H);
    cbn [show_cond]; rewrite back_cons, back_app;
    change (back [[w "end"]] (State (l :: outer) nrs rs ss fs)) with (line_of n [w "end"] (State (l :: outer) nrs rs ss fs));
    rewrite line_end by (cbn [List.length] in *; lia);
    rewrite (back_conds cs IH depth) by (exact H || (cbn [List.length] in *; lia)); rewrite app_nil_r; reflexivity.
Qed.

Lemma back_numbers l is_ rs ss fs : forallb (fun i => ok32 (fst i) && ok32 (snd i)) is_ = true -> forall nrs,
  back (map (fun i => [w "nr"; show32 (fst i); w "-"; show32 (snd i)]) is_) (State [l] nrs rs ss fs)
  = Some (State [l] (is_ ++ nrs) rs ss fs).
Proof.
  induction is_ as [|[a b] is_ IH]; intros H nrs; [reflexivity|]. cbn [forallb fst snd] in H. split_and.
  cbn [map fst snd]. rewrite back_cons, (IH H0).
  change (line_of n [w "nr"; show32 a; w "-"; show32 b] (State [l] (is_ ++ nrs) rs ss fs)) with
    (match num32 (show32 a) with Some a => match num32 (show32 b) with
      Some b => Some (State [l] ((a, b) :: is_ ++ nrs) rs ss fs) | None => None end | None => None end).
  rewrite !num32_show by assumption. reflexivity.
Qed.
Lemma back_rule r rs ss fs : ok_rule n r = true ->
  back (show_rule n r) (State [[]] [] rs ss fs) = Some (State [[]] [] (r :: rs) ss fs).
Proof.
  unfold ok_rule, show_rule. intro H. split_and. rewrite back_cons, back_app.
  rewrite (back_conds _ (proj2 (Forall_forall _ _) (fun c _ => back_cond c)) max_depth) by (assumption || (cbn; lia)).
  rewrite back_numbers by assumption. rewrite !app_nil_r.
  change (line_of n [w "rule"; show32 (returns r)] (State [conditions r] (numbers r) rs ss fs)) with
    (match num32 (show32 (returns r)) with
      Some v => Some (State [[]] [] (Rule v (numbers r) (conditions r) :: rs) ss fs) | None => None end).
  rewrite num32_show by assumption. destruct r; reflexivity.
Qed.
Lemma back_rules l ss fs : forallb (ok_rule n) l = true -> forall rs,
  back (flat_map (show_rule n) l) (State [[]] [] rs ss fs) = Some (State [[]] [] (l ++ rs) ss fs).
Proof.
  induction l as [|r l IH]; intros H rs; [reflexivity|]. cbn [forallb] in H. split_and.
  cbn [flat_map]. rewrite back_app, IH by assumption. apply back_rule. assumption.
Qed.
Lemma back_sections l fs : forallb (ok_section n) l = true -> forall ss,
  back (flat_map (show_section n) l) (State [[]] [] [] ss fs) = Some (State [[]] [] [] (l ++ ss) fs).
Proof.
  induction l as [|[t v rs] l IH]; intros H ss; [reflexivity|]. cbn [forallb] in H. unfold ok_section at 1 in H.
  cbn [token default rules] in H. split_and. cbn [flat_map]. rewrite back_app, IH by assumption.
  unfold show_section. cbn [token default rules]. rewrite back_cons, back_rules, app_nil_r by assumption.
  change (line_of n [w "arch"; show32 t; show32 v] (State [[]] [] rs (l ++ ss) fs)) with
    (match num32 (show32 t) with Some t => match num32 (show32 v) with
      Some v => Some (State [[]] [] [] (Section t v rs :: l ++ ss) fs) | None => None end | None => None end).
  rewrite !num32_show by assumption. reflexivity.
Qed.
Lemma back_filters l : forallb (ok_filter n) l = true -> forall fs,
  back (flat_map (show_filter n) l) (State [[]] [] [] [] fs) = Some (State [[]] [] [] [] (l ++ fs)).
Proof.
  induction l as [|[v ss] l IH]; intros H fs; [reflexivity|]. cbn [forallb] in H. unfold ok_filter at 1 in H.
  cbn [other sections] in H. split_and. cbn [flat_map]. rewrite back_app, IH by assumption.
  unfold show_filter. cbn [other sections]. rewrite back_cons, back_sections, app_nil_r by assumption.
  change (line_of n [w "filter"; show32 v] (State [[]] [] [] ss (l ++ fs))) with
    (match num32 (show32 v) with Some v => Some (State [[]] [] [] [] (Filter v ss :: l ++ fs)) | None => None end).
  rewrite num32_show by assumption. reflexivity.
Qed.
End Names.

(** * Clean lines *)

Lemma clean_hex k v : forallb (fun b => negb ((b =? 10) || (b =? 32) || (b =? 35))) (hex k v) = true.
Proof.
  induction k as [|k IH]; [reflexivity|]. cbn [hex forallb]. rewrite IH, andb_true_r.
  pose proof (N.mod_lt (v / 16 ^ N.of_nat k) 16 ltac:(discriminate)).
  set (d := v / 16 ^ N.of_nat k mod 16) in *. clearbody d.
  destruct (N.ltb_spec d 10); apply negb_true_iff; rewrite !orb_false_iff, !N.eqb_neq; lia.
Qed.
Lemma clean_show32 v : clean (show32 v) = true.
Proof. exact (clean_hex 8 v). Qed.
Lemma clean_operand n x : ok_operand n x = true -> clean (show_operand n x) = true.
Proof. unfold ok_operand. intro H. split_and. assumption. Qed.
Lemma clean_test n t : ok_test n t = true -> clean_line (show_test n t) = true.
Proof.
  unfold ok_test. intro H. split_and. unfold show_test. cbn [clean_line forallb]. rewrite (clean_operand n (left t)) by assumption.
  rewrite forallb_app. cbn [forallb andb]. rewrite (clean_operand n (right t)) by assumption.
  replace (clean (show_cmp (op t))) with true by (destruct (op t); reflexivity). rewrite !andb_true_r.
  apply forallb_forall. intros x I. apply in_flat_map in I. destruct I as [m [I X]]. rewrite forallb_forall in H1.
  destruct X as [<-|[<-|[]]]; [reflexivity|]. apply clean_operand, H1, I.
Qed.
Lemma clean_flat {T} (show : T -> list (list word)) l :
  (forall x, In x l -> forallb clean_line (show x) = true) -> forallb clean_line (flat_map show l) = true.
Proof.
  intro H. apply forallb_forall. intros line I. apply in_flat_map in I. destruct I as [x [I L]].
  specialize (H x I). rewrite forallb_forall in H. exact (H line L).
Qed.
Lemma clean_cond n c : forall depth, ok_cond n depth c = true -> forallb clean_line (show_cond n c) = true.
Proof.
  induction c as [t|l IH|l IH] using cond_all; intros [|depth] H; try discriminate;
    try (cbn [show_cond forallb]; rewrite (clean_test n t H); reflexivity);
    cbn [show_cond forallb]; rewrite forallb_app, (clean_flat (show_cond n) l); try reflexivity;
    intros c I; rewrite Forall_forall in IH; apply (IH c I depth); cbn [ok_cond] in H; rewrite forallb_forall in H; exact (H c I).
Qed.
Ltac clean := cbn [forallb clean_line]; rewrite !clean_show32; cbn [andb].
Lemma clean_filter n f : ok_filter n f = true -> forallb clean_line (show_filter n f) = true.
Proof.
  unfold ok_filter, show_filter. intro H. split_and. clean. change (clean (w "filter")) with true. cbn [andb].
  apply clean_flat. intros s I. rewrite forallb_forall in H0. specialize (H0 s I). unfold ok_section in H0. split_and.
  unfold show_section. clean. change (clean (w "arch")) with true. cbn [andb].
  apply clean_flat. intros r Ir. rewrite forallb_forall in H1. specialize (H1 r Ir). unfold ok_rule in H1. split_and.
  unfold show_rule. clean. change (clean (w "rule")) with true. cbn [andb]. rewrite forallb_app. apply andb_true_iff. split.
  - apply forallb_forall. intros line L. apply in_map_iff in L. destruct L as [i [<- _]]. clean. reflexivity.
  - apply clean_flat. intros c Ic. rewrite forallb_forall in H3. exact (clean_cond n c max_depth (H3 c Ic)).
Qed.
Lemma clean_lines o variables p : ok o variables p = true -> forallb clean_line (lines_of o variables p) = true.
Proof.
  unfold ok, lines_of. intro H. split_and. cbn [forallb]. replace (clean_line [w "byte-order"; show_order o]) with true by (destruct o; reflexivity).
  change (clean_line [w "callgate-policy"; w "1"]) with true. cbn [andb]. rewrite forallb_app. apply andb_true_iff. split.
  - apply forallb_forall. intros line L. apply in_map_iff in L. destruct L as [[name wide] [<- I]].
    rewrite forallb_forall in H. specialize (H _ I). cbn [fst] in H. unfold show_variable. cbn [fst snd clean_line forallb].
    rewrite H. destruct wide; reflexivity.
  - destruct p as [f|l]; cbn [show_policy ok_policy] in *; [apply clean_filter, H0|]. split_and. cbn [forallb].
    change (clean_line [w "stack"]) with true. cbn [andb]. apply clean_flat. intros f I. rewrite forallb_forall in H1. apply clean_filter, H1, I.
Qed.

(** * The text *)

Lemma body_back o n stacked ls s i : back (n ++ fields o) ls start = Some s ->
  body o n stacked (numbered i ls) =
  match s, stacked with
  | State [[]] [] [] [] [f], false => inl (Parsed o n (One f))
  | State [[]] [] [] [] ((_ :: _ :: _) as l), true => inl (Parsed o n (Stack l))
  | _, _ => inr (match numbered i ls with (i, _) :: _ => i | [] => 0 end)
  end.
Proof.
  intro B. unfold body. match goal with |- context [fold_left ?f _ _] => set (step := f) end.
  assert (fold_left step (rev_append (numbered i ls) []) (inl start) = inl s) as ->; [|destruct s; reflexivity].
  rewrite rev_append_rev, app_nil_r, <- fold_left_rev_right, rev_involutive.
  revert i s B. induction ls as [|x ls IH]; intros i s B; [injection B as <-; reflexivity|].
  rewrite back_cons in B. destruct (back _ ls start) as [t|] eqn:E; [|discriminate].
  cbn [numbered fold_right]. rewrite (IH (i + 1) t eq_refl). unfold step. rewrite B. reflexivity.
Qed.
Lemma header_variables o rest : forall variables n i j,
  exists j', header o n i (numbered j (map show_variable variables ++ rest))
  = header o (names_of variables i n) (i + List.length variables) (numbered j' rest).
Proof.
  induction variables as [|[name wide] l IH]; intros n i j.
  - exists j. rewrite PeanoNat.Nat.add_0_r. reflexivity.
  - cbn [map app numbered names_of List.length]. rewrite PeanoNat.Nat.add_succ_r.
    destruct wide; apply (IH (_ :: n) (S i) (j + 1)).
Qed.
Lemma header_policy o n i p : ok_policy (n ++ fields o) p = true -> forall j,
  header o n i (numbered j (show_policy (n ++ fields o) p)) = inl (Parsed o n p).
Proof.
  intros H j. destruct p as [f|l]; cbn [show_policy ok_policy] in *.
  - pose proof (back_filters (n ++ fields o) [f]) as B. cbn [forallb flat_map] in B. rewrite H, !app_nil_r in B.
    change (header o n i (numbered j (show_filter (n ++ fields o) f))) with (body o n false (numbered j (show_filter (n ++ fields o) f))).
    rewrite (body_back _ _ _ _ _ _ (B eq_refl [])). reflexivity.
  - split_and. pose proof (back_filters (n ++ fields o) l H0 []) as B. rewrite app_nil_r in B.
    change (header o n i (numbered j ([w "stack"] :: flat_map (show_filter (n ++ fields o)) l))) with
      (body o n true (numbered (j + 1) (flat_map (show_filter (n ++ fields o)) l))).
    rewrite (body_back _ _ _ _ _ _ B). destruct l as [|f [|g l]]; try discriminate. reflexivity.
Qed.

(** A printed policy is read as itself. *)
Theorem parse_print o variables p : ok o variables p = true ->
  parse (print o variables p) = inl (Parsed o (names_of variables 0 []) p).
Proof.
  intro H. unfold parse, print. rewrite lex_print by (apply clean_lines, H || discriminate).
  rewrite number_lines_app by (apply clean_lines, H). rewrite app_nil_r, rev_append_rev, rev_involutive, app_nil_r.
  unfold lines_of. cbn [numbered]. unfold ok in H. split_and.
  destruct (header_variables o (show_policy (names_of variables 0 [] ++ fields o) p) variables [] 0 (1 + 1 + 1)) as [j E].
  destruct o.
  - change (header Little [] 0 (numbered (1 + 1 + 1) (map show_variable variables ++ show_policy (names_of variables 0 [] ++ fields Little) p))
      = inl (Parsed Little (names_of variables 0 []) p)). rewrite E. apply header_policy, H0.
  - change (header Big [] 0 (numbered (1 + 1 + 1) (map show_variable variables ++ show_policy (names_of variables 0 [] ++ fields Big) p))
      = inl (Parsed Big (names_of variables 0 []) p)). rewrite E. apply header_policy, H0.
Qed.
