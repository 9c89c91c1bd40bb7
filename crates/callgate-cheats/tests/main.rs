//! What comes out as proved is right.

mod proved;
