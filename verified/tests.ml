(* Tests of the checker: programs of other compilers compute in ways that Callgate's own programs do not. *)
open Checker

let rec positive n = if n = 1 then XH else if n land 1 = 1 then XI (positive (n lsr 1)) else XO (positive (n lsr 1))
let number n = if n = 0 then N0 else Npos (positive n)
let numbers text = List.map (fun c -> number (Char.code c)) (List.of_seq (String.to_seq text))

(* struct sock_filter, little-endian. *)
let insn (code, jt, jf, k) =
  let b = Buffer.create 8 in
  Buffer.add_uint16_le b code; Buffer.add_uint8 b jt; Buffer.add_uint8 b jf;
  Buffer.add_int32_le b (Int32.of_int k);
  Buffer.contents b
let program insns = String.concat "" (List.map insn insns)

(* Instructions, in the notation of bpf_asm. *)
let ld at = (0x20, 0, 0, at) and ldi k = (0x00, 0, 0, k) and ldm i = (0x60, 0, 0, i) and ldxi k = (0x01, 0, 0, k)
and ldxm i = (0x61, 0, 0, i) and st i = (0x02, 0, 0, i) and stx i = (0x03, 0, 0, i)
and add k = (0x04, 0, 0, k) and addx = (0x0c, 0, 0, 0) and sub k = (0x14, 0, 0, k) and subx = (0x1c, 0, 0, 0)
and mul k = (0x24, 0, 0, k) and divx = (0x3c, 0, 0, 0) and or_ k = (0x44, 0, 0, k) and orx = (0x4c, 0, 0, 0)
and and_ k = (0x54, 0, 0, k) and andx = (0x5c, 0, 0, 0) and lsh k = (0x64, 0, 0, k) and rsh k = (0x74, 0, 0, k)
and rshx = (0x7c, 0, 0, 0) and xor k = (0xa4, 0, 0, k) and xorx = (0xac, 0, 0, 0) and neg = (0x84, 0, 0, 0)
and tax = (0x07, 0, 0, 0) and txa = (0x87, 0, 0, 0) and ja k = (0x05, 0, 0, k) and ret k = (0x06, 0, 0, k)
and reta = (0x16, 0, 0, 0) and jeq k t f = (0x15, t, f, k) and jeqx t f = (0x1d, t, f, 0)
and jgt k t f = (0x25, t, f, k) and jgtx t f = (0x2d, t, f, 0) and jge k t f = (0x35, t, f, k)
and jgex t f = (0x3d, t, f, 0) and jset k t f = (0x45, t, f, k) and jsetx t f = (0x4d, t, f, 0)

let failures = ref 0 and count = ref 0
let check name expected text insns =
  incr count;
  let start = Sys.time () in
  let answer = match check_bytes (numbers text) (numbers (program insns)) with
    | Accepted -> "accepted" | Refused _ -> "refused" | Undecided Budget -> "budget" | Undecided Complexity -> "complexity"
    | Undecided NoCall -> "no call" | WrongText _ -> "wrong text" | WrongProgram -> "wrong program" in
  let time = Sys.time () -. start in
  if answer <> expected || time > 5. then begin
    incr failures;
    Printf.printf "%s: %s, not %s, in %.1f s\n" name answer expected time
  end

(* A policy about all syscalls: 1 if the conditions hold, otherwise 2. *)
let policy ?(variables = "") conditions =
  "callgate-policy 1\nbyte-order little\n" ^ variables
  ^ "filter 0\narch 3 2\nrule 1\nnr 0 - 0xffffffff\n" ^ conditions ^ "\n"
(* A program: 0 for other architectures; then these instructions, after which 1 is returned by the next and 2 by the last. *)
let about insns = [ld 4; jeq 3 1 0; ret 0] @ insns @ [ret 1; ret 2]
let low = 16 and high = 20 and low1 = 24 and high1 = 28

let () =
  let ok name conditions insns = check name "accepted" (policy conditions) (about insns)
  and bad name conditions insns = check name "refused" (policy conditions) (about insns) in
  ok "equal" "arg0.low == 7" [ld low; jeq 7 0 1];
  bad "not equal" "arg0.low == 7" [ld low; jeq 8 0 1];
  ok "64 bits" "arg0 == 0x100000007" [ld high; jeq 1 0 3; ld low; jeq 7 0 1];
  bad "half of 64 bits" "arg0 == 0x100000007" [ld low; jeq 7 0 1];
  ok "order of 64 bits" "arg0 > 0x100000007" [ld high; jgt 1 3 0; jeq 1 0 3; ld low; jgt 7 0 1];
  (* Views. *)
  ok "a sum" "all\narg0.low >= 10\narg0.low <= 20\nend" [ld low; sub 10; jgt 10 1 0];
  ok "a sum that overflows" "any\narg0.low >= 0xfffffffb\narg0.low <= 4\nend" [ld low; add 5; jge 10 1 0];
  bad "a sum, off by one" "any\narg0.low >= 0xfffffffb\narg0.low <= 5\nend" [ld low; add 5; jge 10 1 0];
  ok "sums" "arg0.low == 7" [ld low; add 3; sub 8; add 0xfffffffe; jeq 0 0 1];
  ok "exclusive or" "arg0.low == 0x1234" [ld low; xor 0x1234; jeq 0 0 1];
  ok "exclusive or, some bits" "arg0.low & 0xff == 0x34" [ld low; xor 0x34; jset 0xff 1 0];
  ok "or" "arg0.low & 0xfffffff0 == 0x120" [ld low; or_ 15; jeq 0x12f 0 1];
  ok "a shift" "arg0.low & 0xff00 == 0x1200" [ld low; rsh 8; and_ 0xff; jeq 0x12 0 1];
  ok "a shift as a range" "arg0.low < 0x10000" [ld low; rsh 16; jeq 0 0 1];
  ok "order after a shift" "arg0.low >= 0x30000" [ld low; rsh 16; jge 3 0 1];
  bad "a shift by less" "arg0.low < 0x10000" [ld low; rsh 15; jeq 0 0 1];
  ok "both halves are zero" "arg0 == 0" [ld low; tax; ld high; orx; jeq 0 0 1];
  ok "a bit of either" "any\narg0.low & 6 != 0\narg1.low & 6 != 0\nend" [ld low; tax; ld low1; orx; jset 6 0 1];
  ok "a table of bits" "any\narg0.low == 1\narg0.low == 3\narg0.low == 4\nend"
    [ld low; jge 32 5 0; tax; ldi 0x1a; rshx; jset 1 0 1];
  ok "a value times two" "arg0.low & 3 == 2" [ld low; and_ 3; mul 2; jeq 4 0 1];
  ok "a value shifted up" "arg0.low & 0xf == 2" [ld low; lsh 28; jeq 0x20000000 0 1];
  ok "the opposite of some bits" "arg0.low & 7 == 5" [ld low; and_ 7; neg; jeq 0xfffffffb 0 1];
  check "the opposite of all bits" "budget" (policy "arg0.low == 5") (about [ld low; neg; jeq 0xfffffffb 0 1]);
  ok "scratch words" "arg0.low == 7" [ld low; st 3; ldi 9; ldxm 3; stx 5; ldm 5; jeq 7 0 1];
  ok "the returned register" "arg0.low == 7" [ld low; jeq 7 2 0; ldi 2; reta; ldi 1; tax; txa; jeq 1 0 1];
  check "division by zero returns 0" "accepted"
    "callgate-policy 1\nbyte-order little\nfilter 0\narch 3 1\nrule 0\nnr 0 - 0xffffffff\narg0.low == 0\n"
    [ld 4; jeq 3 1 0; ret 0; ld low; tax; ldi 9; divx; ret 1];
  (* Many values are excluded, under masks that share bits. *)
  check "excluded values" "accepted"
    "callgate-policy 1\nbyte-order little\nfilter 3\narch 9 2\nrule 1\nnr 16\narg1.low & 7 == 4\n\
     arg0.low & 0x2020220 != 0x20000\nrule 4\nnr 16\narg0.low == 0x5f0f0a63\nrule 1\nnr 16\narg0.low & 0xff == 0x80\n"
    [ld 4; jeq 9 0 27; ld 0; jeq 16 0 22; ld low; jeq 0x5f0f0a63 0 3; ld low1; jset 3 20 0; jset 4 18 19;
     and_ 0x20202ff; jge 0x20080 0 8; jge 0x20281 0 4; jeq 0x2000080 14 0; jeq 0x2000280 13 0; jeq 0x2020080 12 0;
     jeq 0x2020280 11 7; jge 0x20081 0 10; jge 0x20280 9 0; jset 0x320 4 7; jge 0x281 0 1; jset 0x2a0 2 5; jge 0x280 5 0;
     jeq 0x80 4 0; ld low1; jset 3 1 0; jset 4 1 0; ret 2; ret 1; ret 4; ret 3];
  (* Comparisons of two unknown values. *)
  ok "two arguments" "arg0.low == arg1.low" [ld low; tax; ld low1; jeqx 0 1];
  ok "the same, exchanged" "arg0.low == arg1.low" [ld low1; tax; ld low; jeqx 0 1];
  ok "by exclusive or" "arg0.low == arg1.low" [ld low1; tax; ld low; xorx; jeq 0 0 1];
  ok "order" "arg0.low < arg1.low" [ld low1; tax; ld low; jgex 1 0];
  ok "order, exchanged" "arg0.low < arg1.low" [ld low; tax; ld low1; jgtx 0 1];
  bad "order or equal" "arg0.low <= arg1.low" [ld low; tax; ld low1; jgtx 0 1];
  ok "64 bits of two arguments" "arg0 == arg1"
    [ld high; tax; ld high1; jeqx 0 5; ld low; tax; ld low1; jeqx 0 1];
  bad "low halves of two arguments" "arg0 == arg1" [ld low; tax; ld low1; jeqx 0 1];
  ok "shared bits" "arg0.low & arg1.low != 0" [ld low; tax; ld low1; jsetx 0 1];
  (* Variables: a program without them does not depend on them. *)
  check "a variable" "refused" (policy ~variables:"variable fd 32\n" "arg0.low == $fd") (about [ld low; jeq 7 0 1]);
  check "a variable without an effect" "accepted"
    (policy ~variables:"variable fd 64\n" "any\narg0 == $fd\narg0 != $fd\nend") (about [jeq 3 0 1]);
  (* Programs that the kernel does not accept. *)
  let wrong name insns = check name "wrong program" (policy "") insns in
  wrong "no return" [ld 4];
  wrong "a jump out" [ja 1; ret 0];
  wrong "a jump far out" [ja 0xffffffff; ret 0];
  wrong "a branch out" [jeq 0 0 1; ret 0];
  wrong "an unwritten scratch word" [ldm 3; ret 0];
  wrong "a scratch word that one way does not write" [jeq 0 1 0; st 3; ldm 3; ret 0];
  wrong "a load between words" [ld 2; ret 0];
  wrong "a load behind the call" [ld 64; ret 0];
  wrong "a shift by 32" [lsh 32; ret 0];
  wrong "division by constant zero" [(0x34, 0, 0, 0); ret 0];
  wrong "a remainder" [(0x94, 0, 0, 3); ret 0];
  wrong "4,097 instructions" (List.init 4097 (fun _ -> ret 0));
  check "4,096 instructions" "accepted" "callgate-policy 1\nbyte-order little\nfilter 0\n" (List.init 4096 (fun _ -> ret 0));
  (* Stacks: the highest precedence counts, of equal ones the newer filter. *)
  let stack a b = Printf.sprintf "callgate-policy 1\nbyte-order little\nstack\nfilter %d\nfilter %d\n" a b in
  let errno n = 0x50000 + n in
  check "the stricter of two" "accepted" (stack (errno 1) 0x7ffc0000) [ret (errno 1)];
  check "the newer of two" "accepted" (stack (errno 1) (errno 2)) [ret (errno 2)];
  check "kill as a negative number" "accepted" (stack 0x80000000 0) [ret 0x80000000];
  check "data of ALLOW are lost" "accepted" (stack 0x7fff0001 0x7fff0002) [ret 0x7fff0000];
  (* Limits. *)
  let doubled = List.concat (List.init 40 (fun _ -> [tax; addx])) in
  check "a value of many parts" "complexity" (policy "arg0.low == 0") (about ((ld low :: doubled) @ [jeq 0 0 1]));
  (* 4,096 instructions that compare one word with constants. *)
  let chain word line =
    let cases = List.init 2044 (fun i -> (i * 2097143) land 0xffffff) in
    let text = String.concat "" (List.mapi (fun i v -> Printf.sprintf "rule %d\n%s" (3 + i) (line v)) cases) in
    "callgate-policy 1\nbyte-order little\nfilter 0\narch 3 2\n" ^ text,
    [ld 4; jeq 3 1 0; ret 0; ld word] @ List.concat (List.mapi (fun i v -> [jeq v 0 1; ret (3 + i)]) cases) @ [ret 2] in
  List.iter (fun (name, (text, insns)) -> check name "accepted" text insns)
    ["a chain of numbers", chain 0 (Printf.sprintf "nr %d\n");
     "a chain of values", chain low (Printf.sprintf "nr 0 - 0xffffffff\narg0.low == %d\n")];
  (* Rules about bits of two arguments, tested one after the other: 3^n paths. *)
  let masks n wrong =
    let mask i = (1 lsl (i mod 8)) lor (1 lsl ((3 * i + 1) mod 8)) lor (1 lsl (8 + i mod 3)) in
    let rules = List.init n (fun i -> (mask i, mask (5 * i + 2))) in
    let text = String.concat "" (List.map (fun (m, k) ->
      Printf.sprintf "rule 1\nnr 0 - 0xffffffff\narg0.low & %d == %d\narg1.low & %d == %d\n" m m k k) rules) in
    let insns = List.concat (List.mapi (fun i (m, k) ->
      let k = if Some i = wrong then k lor 0x1000 else k in
      [ld low; and_ m; jeq m 0 4; ld low1; and_ k; jeq k 0 1; ret 1]) rules) in
    "callgate-policy 1\nbyte-order little\nfilter 0\narch 3 2\n" ^ text,
    [ld 4; jeq 3 1 0; ret 0] @ insns @ [ret 2] in
  List.iter (fun (name, expected, (text, insns)) -> check name expected text insns)
    ["24 rules about bits of two arguments", "accepted", masks 24 None;
     "200 rules about bits of two arguments", "accepted", masks 200 None;
     "the first of 24 rules is wrong", "refused", masks 24 (Some 0);
     "the last of 24 rules is wrong", "refused", masks 24 (Some 23)];
  (* Three rules at a time share a bit of the first argument, which is tested once for all three; if it is clear, the argument is
     still in A at the test of the next three. *)
  let shared n wrong =
    let groups = List.init n (fun i -> 1 lsl (7 * i mod 31), List.init 3 (fun j -> 1 lsl ((11 * i + 5 * j) mod 29))) in
    let rule a b = Printf.sprintf "rule 1\nnr 0 - 0xffffffff\narg0.low & %d == %d\narg1.low & %d == %d\n" a a b b in
    let text = String.concat "" (List.concat_map (fun (a, l) -> List.map (rule a) l) groups) in
    let insns = List.concat (List.mapi (fun i (a, l) ->
      let behind = 6 * (n - i) - 2 in
      let test j b = jset (if Some i = wrong then b lxor 0x20000000 else b) (behind - j) 0 in
      [ld low; jset a 0 5; ld low1] @ List.mapi test l) groups) in
    "callgate-policy 1\nbyte-order little\nfilter 0\narch 3 2\n" ^ text,
    [ld 4; jeq 3 1 0; ret 0] @ insns @ [ld low; ret 2; ret 1] in
  List.iter (fun (name, expected, (text, insns)) -> check name expected text insns)
    ["42 rules that share tests", "accepted", shared 14 None;
     "the first rules that share a test are wrong", "refused", shared 14 (Some 0);
     "the last rules that share a test are wrong", "refused", shared 14 (Some 13)];
  (* Orders of 64 bits of two arguments: each has two alternatives, and a program that tests them one after the other tests the
     high half once for both. *)
  let orders n wrong =
    let bounds = List.init n (fun i -> i + 1, 1000 - 7 * i, 2 * i + 1, 5 * i + 3) in
    let rule (h, l, g, k) = Printf.sprintf
      "rule 1\nnr 0 - 0xffffffff\narg0 > 0x%x%08x\narg1 < 0x%x%08x\n" h l g k in
    let insns = List.concat (List.mapi (fun i (h, l, g, k) ->
      let k = if Some i = wrong then k + 1 else k in
      (* The sixth instruction is behind the test of arg0, the last one behind that of arg1. *)
      [ld high; jgt h 3 0; jeq h 0 8; ld low; jgt l 0 6;
       ld high1; jge g 0 3; jeq g 0 3; ld low1; jge k 1 0; ret 1]) bounds) in
    "callgate-policy 1\nbyte-order little\nfilter 0\narch 3 2\n" ^ String.concat "" (List.map rule bounds),
    [ld 4; jeq 3 1 0; ret 0] @ insns @ [ret 2] in
  List.iter (fun (name, expected, (text, insns)) -> check name expected text insns)
    ["20 rules about orders of two arguments", "accepted", orders 20 None;
     "an order is wrong", "refused", orders 20 (Some 11)];
  Printf.printf "%d tests, %d failures\n" !count !failures;
  exit (if !failures = 0 then 0 else 1)
