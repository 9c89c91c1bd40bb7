//! Policies, diagrams and proofs: one program, a module per subject.

mod arithmetic;
mod budget;
mod conditions;
mod layouts;
mod policies;
mod programs;
mod proof;
mod queries;
mod requests;
