/* The plain views are frozen: compiled programs know where their fields lie. What fails to compile here is a new ABI
 * version; see docs/abi.md. */

#include <rheo.h>

/* A field lies at `offset` on machines of 64 bits; what is added behind the last one changes the size. */
#define FIELD(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field " has moved")
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")

#if UINTPTR_MAX == UINT64_MAX
FIELD(rheo_bytes, data, 0);
FIELD(rheo_bytes, len, 8);
SIZE(rheo_bytes, 16);

FIELD(rheo_position, sequence, 0);
FIELD(rheo_position, partition, 8);
FIELD(rheo_position, deduplicated, 12);
SIZE(rheo_position, 16);

FIELD(rheo_partition_lag, frontier, 0);
FIELD(rheo_partition_lag, high_watermark, 8);
FIELD(rheo_partition_lag, lag, 16);
FIELD(rheo_partition_lag, partition, 24);
SIZE(rheo_partition_lag, 32);

FIELD(rheo_partition_info, first_sequence, 0);
FIELD(rheo_partition_info, high_watermark, 8);
FIELD(rheo_partition_info, bytes, 16);
FIELD(rheo_partition_info, held_by, 24);
FIELD(rheo_partition_info, held_sequence, 40);
FIELD(rheo_partition_info, partition, 48);
FIELD(rheo_partition_info, held_dead_letter, 52);
SIZE(rheo_partition_info, 56);
#endif

/* The types that cross as numbers. */
SIZE(rheo_status, 4);
SIZE(rheo_settle_class, 4);
SIZE(rheo_retriable, 4);
SIZE(rheo_encoding, 4);
SIZE(rheo_ordering, 4);
SIZE(rheo_clock, 4);

int main(void) {
    return RHEO_ABI_MATCHES() ? 0 : 1;
}
