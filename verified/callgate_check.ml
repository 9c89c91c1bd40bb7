(* callgate-check POLICY PROGRAM: hands the bytes of two files to the checker that is extracted from Coq, and prints its answer. *)
open Checker

let usage = "usage: callgate-check POLICY PROGRAM\n\
  Checks that a program of classic BPF returns what a policy says, for every call.\n\
  POLICY is a policy text (`callgate policy`), PROGRAM has the instructions of\n\
  struct sock_filter, in the byte order of the machine that the policy is for.\n\
  Exit status: 0 accepted, 1 refused, with a call that shows it, 2 error, or not decided.\n"

let fail message = prerr_endline ("callgate-check: " ^ message); exit 2

(* Limits of what is read, and of the time for an answer. The kernel accepts 4,096 instructions of 8 bytes. *)
let max_seconds = 60
let max_text = 4 lsl 20
let max_program = 4096 * 8

let read limit file =
  match open_in_bin file with
  | exception Sys_error message -> fail message
  | channel ->
    let bytes = Buffer.create 65536 in
    let rec go () =
      match Buffer.add_channel bytes channel 65536 with
      | () -> if Buffer.length bytes <= limit then go ()
      | exception End_of_file -> ()
      | exception Sys_error message -> fail (file ^ ": " ^ message) in
    go ();
    close_in channel;
    if Buffer.length bytes > limit then fail (Printf.sprintf "%s: more than %d bytes" file limit);
    Buffer.contents bytes

let rec positive n = if n = 1 then XH else if n land 1 = 1 then XI (positive (n lsr 1)) else XO (positive (n lsr 1))
let byte = Array.init 256 (fun n -> if n = 0 then N0 else Npos (positive n))
let numbers text =
  let rec go i l = if i < 0 then l else go (i - 1) (byte.(Char.code text.[i]) :: l) in
  go (String.length text - 1) []

let rec bits = function XH -> 1L | XO p -> Int64.shift_left (bits p) 1 | XI p -> Int64.logor 1L (Int64.shift_left (bits p) 1)
let int64 = function N0 -> 0L | Npos p -> bits p
let show n = Printf.sprintf "0x%Lx" (int64 n)

let print_call order bytes variables =
  let at offset length =
    let part = List.filteri (fun i _ -> i >= offset && i < offset + length) bytes in
    let part = match order with Little -> List.rev part | Big -> part in
    List.fold_left (fun n b -> Int64.logor (Int64.shift_left n 8) (int64 b)) 0L part in
  Printf.printf "nr 0x%Lx\narch 0x%Lx\nip 0x%Lx\n" (at 0 4) (at 4 4) (at 8 8);
  for i = 0 to 5 do Printf.printf "arg%d 0x%Lx\n" i (at (16 + 8 * i) 8) done;
  List.iteri (fun i v -> Printf.printf "variable %d %s\n" (i + 1) (show v)) variables

let () =
  let policy, program = match Sys.argv with
    | [| _; ("-h" | "--help") |] -> print_string usage; exit 0
    | [| _; policy; program |] -> policy, program
    | _ -> prerr_string usage; exit 2 in
  let text = read max_text policy and code = read max_program program in
  Sys.set_signal Sys.sigalrm
    (Sys.Signal_handle (fun _ -> fail (Printf.sprintf "not decided: more than %d seconds" max_seconds)));
  ignore (Unix.alarm max_seconds);
  match check_bytes (numbers text) (numbers code) with
  | exception Stack_overflow -> fail "not decided: the policy is too large for the stack of this process"
  | exception Out_of_memory -> fail "not decided: out of memory"
  | Accepted -> print_endline "accepted: the program returns what the policy says, for every call"
  | Refused (order, bytes, variables, returned, demanded) ->
    Printf.printf "refused: the program returns %s, the policy says %s for this call\n"
      (match returned with Some v -> show v | None -> "nothing") (show demanded);
    print_call order bytes variables;
    exit 1
  | WrongText line -> fail (Printf.sprintf "%s:%Ld: not a line of a policy text of version 1 here (docs/reference/languages/policy-text.md)" policy (int64 line))
  | WrongProgram -> fail (program ^ ": the kernel does not accept this as a seccomp filter")
  | Undecided Budget -> fail "not decided: too many steps"
  | Undecided Complexity -> fail "not decided: the program computes a value of more than 200 parts"
  | Undecided NoCall -> fail "not decided: the returned values seem to differ, but no call was found that shows it"
