//! Moving a value between two names of one type, where generic code has found out that they are.

use std::any::Any;

/// A value of one type as one of another, which is the same type; none if they differ. A backend whose kernels exist for some
/// element types uses it to return their results from a function generic over the element type. O(1), nothing is allocated.
pub fn same_type<A: 'static, B: 'static>(value: A) -> Option<B> {
    let mut slot = Some(value);
    (&mut slot as &mut dyn Any).downcast_mut::<Option<B>>()?.take()
}

#[cfg(test)]
mod tests {
    use super::same_type;

    #[test]
    fn moves_between_equal_types_only() {
        assert_eq!(same_type::<_, String>("a".to_owned()), Some("a".to_owned()));
        assert_eq!(same_type::<u32, i32>(1), None);
    }
}
