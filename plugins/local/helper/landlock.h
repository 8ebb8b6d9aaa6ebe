// The second wall around files and sockets: the rules of the root tree again, kept by Landlock.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_LANDLOCK_H_
#define BERTH_PLUGINS_LOCAL_HELPER_LANDLOCK_H_

namespace berth::local {

// The ABI level of the kernel, or -errno.
int landlock_level();

// Confines the caller and its children for ever, with every right the level knows. 0, or an errno.
int confine_with_landlock(int level);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_LANDLOCK_H_
