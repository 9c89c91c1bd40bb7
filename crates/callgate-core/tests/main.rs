//! Policies, diagrams and proofs: one program, a module per subject.

mod arguments;
mod arithmetic;
mod budget;
mod conditions;
mod diagrams;
mod layouts;
mod packets;
mod policies;
mod programs;
mod proof;
mod queries;
mod requests;
