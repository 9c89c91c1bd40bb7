//! Policies, diagrams and proofs: one program, a module per subject.

mod arithmetic;
mod budget;
mod conditions;
mod layouts;
mod packets;
mod policies;
mod programs;
mod proof;
mod queries;
mod requests;
