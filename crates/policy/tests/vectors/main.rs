//! Policies, and messages under policies: all cases of the vectors that have a policy.

mod algebra;
mod documents;
mod exchanges;
mod messages;
