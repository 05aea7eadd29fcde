// SPDX-License-Identifier: MIT
// Goal: file systems that other hosts may mount are refused, local ones are not. Method: the magic
// numbers of statfs(2), taken from the kernel's header where it has them.
#include "file/network_filesystem.hpp"

#include <gtest/gtest.h>

#include <linux/magic.h>

namespace mortise::file {
namespace {

TEST(FileNetworkFilesystemTest, RefusesWhatIsShared) {
  for (const std::uint32_t magic :
       {std::uint32_t{NFS_SUPER_MAGIC}, std::uint32_t{SMB_SUPER_MAGIC},
        std::uint32_t{CIFS_SUPER_MAGIC}, std::uint32_t{SMB2_SUPER_MAGIC},
        std::uint32_t{AFS_SUPER_MAGIC}, std::uint32_t{AFS_FS_MAGIC}, std::uint32_t{NCP_SUPER_MAGIC},
        std::uint32_t{CODA_SUPER_MAGIC}, std::uint32_t{V9FS_MAGIC}, std::uint32_t{CEPH_SUPER_MAGIC},
        std::uint32_t{OCFS2_SUPER_MAGIC}, std::uint32_t{FUSE_SUPER_MAGIC},
        std::uint32_t{0x0bd00bd0}, std::uint32_t{0x01161970}}) {
    EXPECT_TRUE(is_network_filesystem(magic)) << std::hex << magic;
  }
}

TEST(FileNetworkFilesystemTest, AcceptsWhatIsLocal) {
  for (const std::uint32_t magic :
       {std::uint32_t{EXT4_SUPER_MAGIC}, std::uint32_t{XFS_SUPER_MAGIC},
        std::uint32_t{BTRFS_SUPER_MAGIC}, std::uint32_t{TMPFS_MAGIC},
        std::uint32_t{OVERLAYFS_SUPER_MAGIC}, std::uint32_t{F2FS_SUPER_MAGIC},
        std::uint32_t{ECRYPTFS_SUPER_MAGIC}, std::uint32_t{0x2fc12fc1} /* ZFS */, 0U}) {
    EXPECT_FALSE(is_network_filesystem(magic)) << std::hex << magic;
  }
}

}  // namespace
}  // namespace mortise::file
