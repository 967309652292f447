//! Which partition a key belongs to: the same in every backend, language and release, and equal to the
//! default partitioner of Kafka's Java client (contract, section 3, "Log").

/// The largest number of partitions a stream may have.
pub const MAX_PARTITION_COUNT: u32 = 65_536;

/// The partition of a key in a stream of `partition_count` partitions (at least 1).
pub fn for_key(key: &[u8], partition_count: u32) -> u32 {
    (murmur2(key) as u32 & 0x7fff_ffff) % partition_count
}

/// Austin Appleby's MurmurHash2, 32 bit, with the seed that Kafka uses; signed as in Java.
pub fn murmur2(bytes: &[u8]) -> i32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ bytes.len() as u32;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k = (k ^ (k >> 24)).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    if !rest.is_empty() {
        for (index, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * index);
        }
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    (hash ^ (hash >> 15)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_kafkas_java_client() {
        for (key, hash, of_four) in [
            ("21", -973_932_308, 0),
            ("foobar", -790_332_482, 2),
            ("abc", 479_470_107, 3),
            ("a-little-bit-longer-string", -1_486_304_829, 3),
        ] {
            assert_eq!(murmur2(key.as_bytes()), hash, "{key}");
            assert_eq!(for_key(key.as_bytes(), 4), of_four, "{key}");
        }
    }
}
