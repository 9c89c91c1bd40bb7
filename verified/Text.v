(** The grammar of the policy text, version 1, as its parser. docs/reference/languages/policy-text.md describes it with an example.
    Words and lines are read from the last to the first: what belongs to a line [rule …] is known when that line is read. *)
From Coq Require Import NArith List Bool Ascii String.
From Callgate Require Import Spec.
Import ListNotations.
Open Scope N_scope.

(** * Words *)
Definition word := list N.
Definition w (s : string) : word := map N_of_ascii (list_ascii_of_string s).
Fixpoint is (a b : word) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => (x =? y) && is a b | _, _ => false end.

Definition push (x : word) (line : list word) : list word := match x with [] => line | _ => x :: line end.
(** Spaces separate words, newlines separate lines, and [#] starts a comment. *)
Record lexer := Lexer { letters : word; words : list word; lines : list (list word) }.
Definition lex_byte (s : lexer) (b : N) : lexer :=
  match b with
  | 10 => Lexer [] [] (push (letters s) (words s) :: lines s)
  | 32 => Lexer [] (push (letters s) (words s)) (lines s)
  | 35 => Lexer [] [] (lines s)
  | _ => Lexer (b :: letters s) (words s) (lines s)
  end.
Definition lex (text : list N) : list (list word) :=
  let s := fold_left lex_byte (rev_append text []) (Lexer [] [] []) in push (letters s) (words s) :: lines s.

(** Numbers are decimal, or hexadecimal after [0x], and below [limit]. *)
Definition digit (b : N) : N :=
  if (48 <=? b) && (b <=? 57) then b - 48 else if (97 <=? b) && (b <=? 102) then b - 87 else 16.
Definition digits (base limit : N) (x : word) : option N :=
  match x with
  | [] => None
  | _ => fold_left (fun n b => match n with
         | Some n => let n := base * n + digit b in if (digit b <? base) && (n <? limit) then Some n else None
         | None => None
         end) x (Some 0)
  end.
Definition num (limit : N) (x : word) : option N :=
  match x with 48 :: 120 :: hex => digits 16 limit hex | _ => digits 10 limit x end.
Definition num32 := num W. Definition num64 := num (W * W).

(** * Conditions *)
Definition names := list (word * operand).
Fixpoint lookup {T} (l : list (word * T)) (x : word) : option T :=
  match l with [] => None | (name, y) :: l => if is name x then Some y else lookup l x end.
(** The operands of [struct seccomp_data]: the instruction pointer and the arguments, all 64 bits or the low half. *)
Definition both (o : order) (name : string) (i : nat) : names :=
  let (low, high) := match o with Little => (i, S i) | Big => (S i, i) end in
  [(w name, Wide low high); (w (name ++ ".low"), Low low)].
Definition fields (o : order) : names :=
  both o "ip" 2 ++ both o "arg0" 4 ++ both o "arg1" 6 ++ both o "arg2" 8 ++ both o "arg3" 10 ++ both o "arg4" 12
  ++ both o "arg5" 14.
Definition operand_of (n : names) (x : word) : option operand :=
  match lookup n x with Some y => Some y | None => option_map Const (num64 x) end.
Definition relations : list (word * cmp) :=
  [(w "==", CEq); (w "!=", CNe); (w "<", CLt); (w "<=", CLe); (w ">", CGt); (w ">=", CGe)].
Fixpoint test_of (n : names) (left : operand) (masks : list operand) (line : list word) : option test :=
  match line with
  | [r; y] =>
    match lookup relations r, operand_of n y with Some op, Some y => Some (Test left (rev masks) op y) | _, _ => None end
  | r :: y :: line =>
    match is r (w "&"), operand_of n y with true, Some y => test_of n left (y :: masks) line | _, _ => None end
  | _ => None
  end.

(** * Lines *)
Notation "'let*' x ':=' e 'in' f" := (match e with Some x => f | None => None end) (at level 200, x pattern).
(** What has been read of the part behind. [open] has the conditions of the rule, and those of each [all] and [any] that is not
    begun yet, the innermost first. *)
Record state := State {
  open : list (list cond); nrs : list (N * N); done_rules : list rule; done_sections : list section; done : list filter }.
Definition start := State [[]] [] [] [] []. Definition max_depth : nat := 64.

Definition line_of (n : names) (line : list word) (s : state) : option state :=
  let '(State open nrs rules sections done) := s in
  let add c outer := match outer with
    | l :: outer => Some (State ((c :: l) :: outer) nrs rules sections done) | [] => None end in
  let group c := match open with l :: (_ :: _) as outer => add (c l) outer | _ => None end in
  let numbers a b := match open with
    | [_] => let* a := num32 a in let* b := num32 b in Some (State open ((a, b) :: nrs) rules sections done)
    | _ => None end in
  match line with
  | [] => Some s
  | k :: args =>
    match is k (w "end"), is k (w "all"), is k (w "any"), is k (w "nr"), is k (w "rule"), is k (w "arch"), is k (w "filter"), args with
    | true, _, _, _, _, _, _, [] =>
      if Nat.leb (List.length open) max_depth then Some (State ([] :: open) nrs rules sections done) else None
    | _, true, _, _, _, _, _, [] => group All
    | _, _, true, _, _, _, _, [] => group Any
    | _, _, _, true, _, _, _, [a] => numbers a a
    | _, _, _, true, _, _, _, [a; dash; b] => if is dash (w "-") then numbers a b else None
    | _, _, _, _, true, _, _, [v] =>
      match open with [l] => let* v := num32 v in Some (State [[]] [] (Rule v nrs l :: rules) sections done) | _ => None end
    (* Further words name the ABIs, which share a token. They have no meaning. *)
    | _, _, _, _, _, true, _, token :: v :: _ =>
      match open, nrs with
      | [[]], [] => let* t := num32 token in let* v := num32 v in Some (State [[]] [] [] (Section t v rules :: sections) done)
      | _, _ => None
      end
    | _, _, _, _, _, _, true, [v] =>
      match open, nrs, rules with
      | [[]], [], [] => let* v := num32 v in Some (State [[]] [] [] [] (Filter v sections :: done))
      | _, _, _ => None
      end
    | _, _, _, _, _, _, _, _ => let* x := operand_of n k in let* t := test_of n x [] args in add (Is t) open
    end
  end.

(** * The text *)
Record parsed := Parsed { byte_order : order; variables : names; meaning : policy }.
(** A policy, or the number of a line that is wrong. *)
Definition result := (parsed + N)%type.
(** Numbers the lines from 1, drops empty ones, and reverses the list. *)
Fixpoint number_lines (i : N) (l : list (list word)) (done : list (N * list word)) : list (N * list word) :=
  match l with
  | [] => done
  | line :: l => number_lines (i + 1) l (match line with [] => done | _ => (i, line) :: done end)
  end.
Definition body (o : order) (n : names) (stacked : bool) (lines : list (N * list word)) : result :=
  let step s '(i, line) := match s with
    | inl s => match line_of (n ++ fields o)%list line s with Some s => inl s | None => inr i end | inr i => inr i end in
  match fold_left step (rev_append lines []) (inl start), stacked with
  | inl (State [[]] [] [] [] [f]), false => inl (Parsed o n (One f))
  | inl (State [[]] [] [] [] ((_ :: _ :: _) as l)), true => inl (Parsed o n (Stack l))
  | inl _, _ => inr (match lines with (i, _) :: _ => i | [] => 0 end)
  | inr i, _ => inr i
  end.
(** A variable has two words; if it is declared with 32 bits, only the low one counts. *)
Fixpoint header (o : order) (n : names) (i : nat) (lines : list (N * list word)) : result :=
  match lines with
  | (at_, [k; name; bits]) :: rest =>
    if negb (is k (w "variable")) then body o n false lines
    else if is bits (w "64") then header o ((w "$" ++ name, Wide (16 + 2 * i) (17 + 2 * i)) :: n)%list (S i) rest
    else if is bits (w "32") then header o ((w "$" ++ name, Low (16 + 2 * i)) :: n)%list (S i) rest
    else inr at_
  | (_, [k]) :: rest => body o n (is k (w "stack")) (if is k (w "stack") then rest else lines)
  | _ => body o n false lines
  end.
Definition parse (text : list N) : result :=
  match rev_append (number_lines 1 (lex text) []) [] with
  | (i, [a; b]) :: (j, [c; d]) :: rest =>
    if negb (is a (w "callgate-policy") && is b (w "1")) then inr i
    else if negb (is c (w "byte-order")) then inr j
    else if is d (w "little") then header Little [] 0 rest
    else if is d (w "big") then header Big [] 0 rest
    else inr j
  | (i, _) :: _ => inr i
  | [] => inr 1
  end.
