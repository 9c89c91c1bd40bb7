//! Policies with variables: one program, proved for all values, against the compilation of the values.

mod policies;
mod programs;
