(** The checker as OCaml. Numbers stay lists of bits; only lists, pairs, options and booleans become those of OCaml. *)
From Coq Require Import Extraction ExtrOcamlBasic.
From Callgate Require Import Theorems.
Extraction "checker.ml" check_bytes.
