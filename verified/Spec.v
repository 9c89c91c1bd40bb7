(** The specification: what the kernel does with a seccomp program, and what a policy means.

    This file, and the grammar of policies in [Text.v], are all that the theorem in [Theorems.v] needs to be understood.
    Numbers are [N], natural numbers; [W] is 2^32. Nothing here is meant to be fast. *)
From Coq Require Import NArith List Bool.
Import ListNotations.
Open Scope N_scope.

Definition W : N := 4294967296.

(** * The input *)

(** A byte is a number below 256. A number is stored as bytes in the byte order of the machine. *)
Inductive order := Little | Big.
Definition is_bytes (bytes : list N) : Prop := Forall (fun b => b < 256) bytes.
Definition number (o : order) (bytes : list N) : N :=
  fold_left (fun n b => 256 * n + b) (match o with Big => bytes | Little => rev bytes end) 0.

(** A program reads words of 32 bits. Words 0 to 15 are [struct seccomp_data], 64 bytes: 0 is the syscall number, 1 the
    architecture, 2 and 3 are the instruction pointer, 4 to 15 the six arguments. Of a number of 64 bits, the first word has
    the low half on little-endian machines, the high half on big-endian ones.
    The words from 16 on are the variables of a policy, for which a program has constants: two words each, the low half first.
    Programs cannot load them. *)
Definition data := nat -> N.
Definition input (o : order) (bytes : list N) (variables : list N) : data := fun i =>
  if Nat.ltb i 16 then number o (firstn 4 (skipn (4 * i) bytes))
  else let v := nth (Nat.div2 (i - 16)) variables 0 in if Nat.even i then v mod W else v / W mod W.

(** * Programs *)

Inductive alu := Add | Sub | Mul | Div | Or | And | Lsh | Rsh | Xor.
Inductive rel := Eq | Gt | Ge | Share.
(** An operand: a constant, or the register X. *)
Inductive src := SK (k : N) | SX.
(** The registers are A, X and 16 scratch words. Jumps skip that many instructions. *)
Inductive insn :=
| LdAbs (word : nat) | LdImm (k : N) | LdMem (i : nat)        (* A = an input word, a constant, a scratch word *)
| LdxImm (k : N) | LdxMem (i : nat) | St (i : nat) | Stx (i : nat)  (* the same for X; scratch word = A, X *)
| Alu (o : alu) (s : src) | Neg | Tax | Txa                          (* A = A o s; A = -A; X = A; A = X *)
| Ja (skip : nat) | Jmp (r : rel) (s : src) (jt jf : nat) | RetK (k : N) | RetA.

Definition alu_val (o : alu) (a b : N) : N :=
  match o with
  | Add => (a + b) mod W
  | Sub => (a + (W - b mod W)) mod W
  | Mul => (a * b) mod W
  | Div => a / b
  | Or => N.lor a b
  | And => N.land a b
  | Xor => N.lxor a b
  | Lsh => N.shiftl a (N.land b 31) mod W
  | Rsh => N.shiftr a (N.land b 31)
  end.

Definition rel_val (r : rel) (a b : N) : bool :=
  match r with
  | Eq => a =? b
  | Gt => b <? a
  | Ge => b <=? a
  | Share => negb (N.land a b =? 0)
  end.

Definition set {T} (m : nat -> T) (i : nat) (v : T) : nat -> T := fun j => if Nat.eqb j i then v else m j.

(** Runs the program [p] from its first instruction; a jump drops instructions, because all jumps go forward. [fuel] bounds the
    executed instructions. Division by zero returns 0. [None]: the end is reached without a return. *)
Fixpoint run (fuel : nat) (p : list insn) (a x : N) (m : nat -> N) (d : data) : option N :=
  match fuel, p with
  | S f, i :: q =>
    let get s := match s with SK k => k | SX => x end in
    match i with
    | LdAbs w => run f q (d w) x m d
    | LdImm k => run f q k x m d
    | LdMem i => run f q (m i) x m d
    | LdxImm k => run f q a k m d
    | LdxMem i => run f q a (m i) m d
    | St i => run f q a x (set m i a) d
    | Stx i => run f q a x (set m i x) d
    | Alu Div s => if get s =? 0 then Some 0 else run f q (alu_val Div a (get s)) x m d
    | Alu o s => run f q (alu_val o a (get s)) x m d
    | Neg => run f q (alu_val Sub 0 a) x m d
    | Tax => run f q a a m d
    | Txa => run f q x x m d
    | Ja k => run f (skipn k q) a x m d
    | Jmp r s jt jf => run f (skipn (if rel_val r a (get s) then jt else jf) q) a x m d
    | RetK k => Some k
    | RetA => Some a
    end
  | _, _ => None
  end.

(** The instructions that [seccomp_check_filter] accepts: code, two jump distances and a constant. *)
Definition decode (code jt jf k : N) : option insn :=
  let mem (f : nat -> insn) := if k <? 16 then Some (f (N.to_nat k)) else None in
  let shift o := if k <? 32 then Some (Alu o (SK k)) else None in
  let jump r s := Some (Jmp r s (N.to_nat jt) (N.to_nat jf)) in
  match code with
  | 32 => if (k <? 64) && (k mod 4 =? 0) then Some (LdAbs (N.to_nat (k / 4))) else None
  | 0 => Some (LdImm k) | 128 => Some (LdImm 64) | 96 => mem LdMem
  | 1 => Some (LdxImm k) | 129 => Some (LdxImm 64) | 97 => mem LdxMem
  | 2 => mem St | 3 => mem Stx
  | 4 => Some (Alu Add (SK k)) | 12 => Some (Alu Add SX)
  | 20 => Some (Alu Sub (SK k)) | 28 => Some (Alu Sub SX)
  | 36 => Some (Alu Mul (SK k)) | 44 => Some (Alu Mul SX)
  | 52 => if k =? 0 then None else Some (Alu Div (SK k)) | 60 => Some (Alu Div SX)
  | 68 => Some (Alu Or (SK k)) | 76 => Some (Alu Or SX)
  | 84 => Some (Alu And (SK k)) | 92 => Some (Alu And SX)
  | 100 => shift Lsh | 108 => Some (Alu Lsh SX)
  | 116 => shift Rsh | 124 => Some (Alu Rsh SX)
  | 164 => Some (Alu Xor (SK k)) | 172 => Some (Alu Xor SX)
  | 132 => Some Neg | 7 => Some Tax | 135 => Some Txa
  | 5 => if k <? 4096 then Some (Ja (N.to_nat k)) else None  (* longer jumps leave every program *)
  | 21 => jump Eq (SK k) | 29 => jump Eq SX
  | 37 => jump Gt (SK k) | 45 => jump Gt SX
  | 53 => jump Ge (SK k) | 61 => jump Ge SX
  | 69 => jump Share (SK k) | 77 => jump Share SX
  | 6 => Some (RetK k) | 22 => Some RetA
  | _ => None
  end.

(** [struct sock_filter], 8 bytes: code (2), jt, jf, k (4). *)
Fixpoint decode_all (o : order) (bytes : list N) : option (list insn) :=
  match bytes with
  | [] => Some []
  | c0 :: c1 :: jt :: jf :: k0 :: k1 :: k2 :: k3 :: rest =>
    match decode (number o [c0; c1]) jt jf (number o [k0; k1; k2; k3]), decode_all o rest with
    | Some i, Some p => Some (i :: p)
    | _, _ => None
    end
  | _ => None
  end.

(** [bpf_check_classic] and [check_load_and_stores]: jumps stay inside, the last instruction returns, and scratch words are
    written before they are read. A set of scratch words is a number, with a bit for each. [w] is the set of those that are
    written on the way to the first instruction of [p]; [at_jumps] has, for each instruction of [p], the set of those that are
    written on all jumps to it. The kernel lets the instruction after a return have the set of the return. *)
Fixpoint jump_to (k : nat) (w : N) (at_jumps : list N) : option (list N) :=
  match at_jumps, k with
  | [], _ => None
  | m :: l, O => Some (N.land m w :: l)
  | m :: l, S k => match jump_to k w l with Some l => Some (m :: l) | None => None end
  end.
Definition all_scratch : N := 65535.
Fixpoint accepts (p : list insn) (w : N) (at_jumps : list N) : bool :=
  match p, at_jumps with
  | i :: q, m :: l =>
    let w := N.land w m in
    match i with
    | LdMem j | LdxMem j => N.testbit w (N.of_nat j) && accepts q w l
    | St j | Stx j => accepts q (N.setbit w (N.of_nat j)) l
    | Ja k => match jump_to k w l with Some l => accepts q all_scratch l | None => false end
    | Jmp _ _ jt jf =>
      match jump_to jt w l with
      | Some l => match jump_to jf w l with Some l => accepts q all_scratch l | None => false end
      | None => false
      end
    | RetK _ | RetA => match q with [] => true | _ => accepts q w l end
    | _ => accepts q w l
    end
  | _, _ => false
  end.

(** What the kernel accepts as a program: 1 to 4,096 instructions. *)
Definition load (o : order) (program : list N) : option (list insn) :=
  match decode_all o program with
  | Some p =>
    if Nat.leb (length p) 4096 && accepts p 0 (map (fun _ => all_scratch) p) then Some p else None
  | None => None
  end.

(** What the kernel gets from a program, both given as bytes. *)
Definition kernel_run (o : order) (program bytes : list N) : option N :=
  match load o program with
  | Some p => run (length p) p 0 0 (fun _ => 0) (input o bytes [])
  | None => None
  end.

(** * Policies *)

(** An operand of 64 bits: a constant, a number in two words, or a single word of 32 bits. *)
Inductive operand := Const (n : N) | Wide (low high : nat) | Low (low : nat).
Inductive cmp := CEq | CNe | CLt | CLe | CGt | CGe.
(** [left & mask & … op right], unsigned. *)
Record test := Test { left : operand; masks : list operand; op : cmp; right : operand }.
Inductive cond := Is (t : test) | All (l : list cond) | Any (l : list cond).
(** A rule is about the syscall numbers in any of the intervals, if all conditions hold. *)
Record rule := Rule { returns : N; numbers : list (N * N); conditions : list cond }.
Record section := Section { token : N; default : N; rules : list rule }.
Record filter := Filter { other : N; sections : list section }.
(** One filter, or filters that are installed on top of each other, the first one first. *)
Inductive policy := One (f : filter) | Stack (l : list filter).

Definition operand_val (d : data) (x : operand) : N :=
  match x with Const n => n | Wide low high => d low + W * d high | Low low => d low end.
Definition cmp_val (c : cmp) (a b : N) : bool :=
  match c with
  | CEq => a =? b | CNe => negb (a =? b) | CLt => a <? b | CLe => a <=? b | CGt => b <? a | CGe => b <=? a
  end.
Definition test_val (d : data) (t : test) : bool :=
  let left := fold_left (fun v m => N.land v (operand_val d m)) (masks t) (operand_val d (left t)) in
  cmp_val (op t) left (operand_val d (right t)).
Fixpoint cond_val (d : data) (c : cond) : bool :=
  match c with Is t => test_val d t | All l => forallb (cond_val d) l | Any l => existsb (cond_val d) l end.

(** The first rule that matches decides; without one, the default of the section; without a section, [other]. *)
Definition matches (d : data) (r : rule) : bool :=
  existsb (fun i => (fst i <=? d 0%nat) && (d 0%nat <=? snd i)) (numbers r) && forallb (cond_val d) (conditions r).
Definition rules_val (d : data) (l : list rule) (default : N) : N :=
  match find (matches d) l with Some r => returns r | None => default end.
Definition filter_val (d : data) (f : filter) : N :=
  match find (fun s => d 1%nat =? token s) (sections f) with
  | Some s => rules_val d (rules s) (default s)
  | None => other f
  end.

(** [seccomp_run_filters]: the newest filter runs first. A value replaces another if its action, the upper 16 bits, is less as a
    signed number. The kernel starts with ALLOW. *)
Definition rank (v : N) : N := (N.land v 4294901760 + 2147483648) mod W.
Definition stricter (kept v : N) : N := if rank v <? rank kept then v else kept.
Definition allow : N := 2147418112.
Definition verdict (d : data) (p : policy) : N :=
  match p with
  | One f => filter_val d f
  | Stack l => fold_left stricter (map (filter_val d) (rev l)) allow
  end.
