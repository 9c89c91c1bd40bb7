(* Evaluates the definitions of Spec.v, to compare them with others. Each line of the input is a question:
     run little|big PROGRAM CALL     the value that the kernel gets, or "none"
     says TEXT CALL                  the value that the policy says, or "none" if the text is not a policy
   in which the operands are bytes in hexadecimal, or "-" for none. Each line of the output is an answer. *)
open Checker

let rec positive n = if n = 1 then XH else if n land 1 = 1 then XI (positive (n lsr 1)) else XO (positive (n lsr 1))
let byte = Array.init 256 (fun n -> if n = 0 then N0 else Npos (positive n))
let bytes hex =
  if hex = "-" then []
  else List.init (String.length hex / 2) (fun i -> byte.(int_of_string ("0x" ^ String.sub hex (2 * i) 2)))
let rec bits = function XH -> 1 | XO p -> 2 * bits p | XI p -> 2 * bits p + 1
let show = function None -> "none" | Some N0 -> "0x0" | Some (Npos p) -> Printf.sprintf "0x%x" (bits p)

let last = ref ("", None)
let parsed hex =
  if fst !last <> hex then
    last := (hex, match parse (bytes hex) with Inl p -> Some p | Inr _ -> None);
  snd !last

let answer line =
  match String.split_on_char ' ' line with
  | ["run"; order; program; call] ->
    show (kernel_run (if order = "little" then Little else Big) (bytes program) (bytes call))
  | ["says"; text; call] ->
    show (Option.map (fun p -> verdict (input p.byte_order (bytes call) []) p.meaning) (parsed text))
  | _ -> failwith line

let () = try while true do print_endline (answer (input_line stdin)) done with End_of_file -> ()
