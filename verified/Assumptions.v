(** Lists what the theorems assume. `verified/check` fails unless that is nothing. *)
From Callgate Require Import Theorems Print.
Print Assumptions accepted.
Print Assumptions refused.
Print Assumptions parse_print.
