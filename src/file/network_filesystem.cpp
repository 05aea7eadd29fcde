// SPDX-License-Identifier: MIT
// The list of refused file systems, by the magic numbers of statfs(2).
#include "file/network_filesystem.hpp"

#include <algorithm>
#include <array>

namespace mortise::file {
namespace {

// Written out, since <linux/magic.h> has only those that the kernel's own tree knows.
// Sources: linux/magic.h, statfs(2), and the table of stat(1) in GNU coreutils.
constexpr std::array<std::uint32_t, 22> refused{
    0x00006969,  // NFS
    0x0000517b,  // SMB
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB2
    0x5346414f,  // AFS (OpenAFS)
    0x6b414653,  // AFS (in the kernel)
    0x0000564c,  // NCP
    0x73757245,  // Coda
    0x01021997,  // 9P
    0x00c36400,  // Ceph
    0x0bd00bd0,  // Lustre
    0x01161970,  // GFS2
    0x7461636f,  // OCFS2
    0x65735546,  // FUSE and virtiofs
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x20030528,  // OrangeFS
    0xaad7aaea,  // PanFS
    0xbeefdead,  // SNFS
    0x61636673,  // ACFS
    0x786f4256,  // VirtualBox shared folders
    0xbacbacbc,  // VMware shared folders
};

}  // namespace

bool is_network_filesystem(std::uint32_t magic) noexcept {
  return std::find(refused.begin(), refused.end(), magic) != refused.end();
}

}  // namespace mortise::file
