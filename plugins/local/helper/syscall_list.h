// The list the filter is built from, in groups. A call that the
// headers of this build do not know is left out and therefore answers ENOSYS.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_SYSCALL_LIST_H_
#define BERTH_PLUGINS_LOCAL_HELPER_SYSCALL_LIST_H_

#include <sys/syscall.h>

#include <cstdint>

namespace berth::local {

enum class Verdict : std::uint8_t {
  kUnknown,      // ENOSYS
  kAllow,
  kRefuse,       // EPERM
  kNothing,      // answered as done without asking the kernel
  kMake,         // EPERM, but a template makes sandboxes with it
  kClone,        // no new namespaces
  kFcntl,        // no watching of folders
  kIoctl,        // no terminal injection
  kSocket,       // unix, and stream or datagram of IPv4 and IPv6
  kSocketPair,   // unix
  kSetOption,    // no protocol of the kernel's own above TCP
  kPersonality,  // the ordinary one
  kPrctl,        // nothing that changes the memory map or who may trace
  kPrlimit,      // of the caller alone
  kSeccompCall,  // no listener
};

struct SyscallEntry {
  std::uint32_t number;
  Verdict verdict;
};

// clang-format off
inline constexpr SyscallEntry kSyscalls[] = {
    // files
    {SYS_read, Verdict::kAllow}, {SYS_write, Verdict::kAllow}, {SYS_close, Verdict::kAllow},
    {SYS_stat, Verdict::kAllow}, {SYS_fstat, Verdict::kAllow}, {SYS_lstat, Verdict::kAllow},
    {SYS_lseek, Verdict::kAllow}, {SYS_pread64, Verdict::kAllow}, {SYS_pwrite64, Verdict::kAllow},
    {SYS_readv, Verdict::kAllow}, {SYS_writev, Verdict::kAllow}, {SYS_preadv, Verdict::kAllow},
    {SYS_pwritev, Verdict::kAllow}, {SYS_preadv2, Verdict::kAllow},
    {SYS_pwritev2, Verdict::kAllow}, {SYS_pipe2, Verdict::kAllow}, {SYS_dup, Verdict::kAllow},
    {SYS_dup3, Verdict::kAllow}, {SYS_sendfile, Verdict::kAllow}, {SYS_fcntl, Verdict::kFcntl},
    {SYS_flock, Verdict::kAllow}, {SYS_fsync, Verdict::kAllow}, {SYS_fdatasync, Verdict::kAllow},
    {SYS_truncate, Verdict::kAllow}, {SYS_ftruncate, Verdict::kAllow},
    {SYS_getdents64, Verdict::kAllow}, {SYS_getcwd, Verdict::kAllow}, {SYS_chdir, Verdict::kAllow},
    {SYS_fchdir, Verdict::kAllow}, {SYS_renameat, Verdict::kAllow},
    {SYS_renameat2, Verdict::kAllow}, {SYS_mkdirat, Verdict::kAllow},
    {SYS_linkat, Verdict::kAllow}, {SYS_unlinkat, Verdict::kAllow},
    {SYS_symlinkat, Verdict::kAllow}, {SYS_readlinkat, Verdict::kAllow},
    {SYS_fchmod, Verdict::kAllow}, {SYS_fchmodat, Verdict::kAllow}, {SYS_fchown, Verdict::kAllow},
    {SYS_fchownat, Verdict::kAllow}, {SYS_umask, Verdict::kAllow}, {SYS_statfs, Verdict::kAllow},
    {SYS_fstatfs, Verdict::kAllow}, {SYS_utimensat, Verdict::kAllow},
    {SYS_openat, Verdict::kAllow}, {SYS_openat2, Verdict::kAllow},
    {SYS_newfstatat, Verdict::kAllow}, {SYS_statx, Verdict::kAllow},
    {SYS_faccessat, Verdict::kAllow}, {SYS_faccessat2, Verdict::kAllow},
    {SYS_fallocate, Verdict::kAllow}, {SYS_fadvise64, Verdict::kAllow},
    {SYS_readahead, Verdict::kAllow}, {SYS_sync_file_range, Verdict::kAllow}, {SYS_copy_file_range, Verdict::kAllow},
    {SYS_splice, Verdict::kAllow}, {SYS_tee, Verdict::kAllow}, {SYS_vmsplice, Verdict::kAllow},
    {SYS_mknodat, Verdict::kAllow}, {SYS_setxattr, Verdict::kAllow},
    {SYS_lsetxattr, Verdict::kAllow}, {SYS_fsetxattr, Verdict::kAllow},
    {SYS_getxattr, Verdict::kAllow}, {SYS_lgetxattr, Verdict::kAllow},
    {SYS_fgetxattr, Verdict::kAllow}, {SYS_listxattr, Verdict::kAllow},
    {SYS_llistxattr, Verdict::kAllow}, {SYS_flistxattr, Verdict::kAllow},
    {SYS_removexattr, Verdict::kAllow}, {SYS_lremovexattr, Verdict::kAllow},
    {SYS_fremovexattr, Verdict::kAllow},
    {SYS_memfd_create, Verdict::kAllow}, {SYS_close_range, Verdict::kAllow},
    // memory
    {SYS_mmap, Verdict::kAllow}, {SYS_mprotect, Verdict::kAllow}, {SYS_munmap, Verdict::kAllow},
    {SYS_brk, Verdict::kAllow}, {SYS_mremap, Verdict::kAllow}, {SYS_msync, Verdict::kAllow},
    {SYS_mincore, Verdict::kAllow}, {SYS_madvise, Verdict::kAllow}, {SYS_mlock, Verdict::kAllow},
    {SYS_mlock2, Verdict::kAllow}, {SYS_munlock, Verdict::kAllow}, {SYS_mlockall, Verdict::kAllow},
    {SYS_munlockall, Verdict::kAllow}, {SYS_pkey_mprotect, Verdict::kAllow},
    {SYS_pkey_alloc, Verdict::kAllow}, {SYS_pkey_free, Verdict::kAllow},
    {SYS_membarrier, Verdict::kAllow}, {SYS_remap_file_pages, Verdict::kAllow},
    // waiting
    {SYS_ppoll, Verdict::kAllow}, {SYS_pselect6, Verdict::kAllow},
    {SYS_epoll_create1, Verdict::kAllow}, {SYS_epoll_ctl, Verdict::kAllow},
    {SYS_epoll_pwait, Verdict::kAllow}, {SYS_epoll_pwait2, Verdict::kAllow},
    {SYS_eventfd2, Verdict::kAllow}, {SYS_signalfd4, Verdict::kAllow},
    {SYS_timerfd_create, Verdict::kAllow}, {SYS_timerfd_settime, Verdict::kAllow},
    {SYS_timerfd_gettime, Verdict::kAllow},
    // a watch on a file of the system tells what the host and every other sandbox opens
    {SYS_inotify_init1, Verdict::kUnknown},
    // asynchronous contexts are counted for the whole machine, and a kernel need not have them
    {SYS_io_setup, Verdict::kUnknown},
    // processes
    {SYS_execve, Verdict::kAllow}, {SYS_execveat, Verdict::kAllow}, {SYS_exit, Verdict::kAllow},
    {SYS_exit_group, Verdict::kAllow}, {SYS_wait4, Verdict::kAllow}, {SYS_waitid, Verdict::kAllow},
    {SYS_kill, Verdict::kAllow}, {SYS_tkill, Verdict::kAllow}, {SYS_tgkill, Verdict::kAllow},
    {SYS_rt_tgsigqueueinfo, Verdict::kAllow}, {SYS_rt_sigqueueinfo, Verdict::kAllow},
    {SYS_getpid, Verdict::kAllow}, {SYS_getppid, Verdict::kAllow}, {SYS_gettid, Verdict::kAllow},
    {SYS_getpgid, Verdict::kAllow}, {SYS_setpgid, Verdict::kAllow}, {SYS_getsid, Verdict::kAllow},
    {SYS_setsid, Verdict::kAllow}, {SYS_getuid, Verdict::kAllow}, {SYS_geteuid, Verdict::kAllow},
    {SYS_getgid, Verdict::kAllow}, {SYS_getegid, Verdict::kAllow},
    {SYS_getresuid, Verdict::kAllow}, {SYS_getresgid, Verdict::kAllow},
    {SYS_getgroups, Verdict::kAllow}, {SYS_setuid, Verdict::kAllow}, {SYS_setgid, Verdict::kAllow},
    {SYS_setreuid, Verdict::kAllow}, {SYS_setregid, Verdict::kAllow},
    {SYS_setresuid, Verdict::kAllow}, {SYS_setresgid, Verdict::kAllow},
    {SYS_setfsuid, Verdict::kAllow}, {SYS_setfsgid, Verdict::kAllow},
    {SYS_setgroups, Verdict::kAllow}, {SYS_capget, Verdict::kAllow}, {SYS_capset, Verdict::kAllow},
    {SYS_getrlimit, Verdict::kAllow}, {SYS_setrlimit, Verdict::kAllow},
    {SYS_getrusage, Verdict::kAllow}, {SYS_times, Verdict::kAllow},
    {SYS_getpriority, Verdict::kAllow}, {SYS_setpriority, Verdict::kAllow},
    {SYS_ioprio_get, Verdict::kAllow}, {SYS_ioprio_set, Verdict::kAllow},
    {SYS_set_tid_address, Verdict::kAllow}, {SYS_set_robust_list, Verdict::kAllow},
    {SYS_get_robust_list, Verdict::kAllow}, {SYS_futex, Verdict::kAllow},
    {SYS_futex_waitv, Verdict::kAllow}, {SYS_sched_yield, Verdict::kAllow},
    {SYS_sched_getaffinity, Verdict::kAllow}, {SYS_sched_setaffinity, Verdict::kAllow},
    {SYS_sched_getparam, Verdict::kAllow}, {SYS_sched_setparam, Verdict::kAllow},
    {SYS_sched_getscheduler, Verdict::kAllow}, {SYS_sched_setscheduler, Verdict::kAllow},
    {SYS_sched_getattr, Verdict::kAllow}, {SYS_sched_setattr, Verdict::kAllow},
    {SYS_sched_get_priority_max, Verdict::kAllow}, {SYS_sched_get_priority_min, Verdict::kAllow},
    {SYS_sched_rr_get_interval, Verdict::kAllow}, {SYS_getcpu, Verdict::kAllow},
    {SYS_rseq, Verdict::kAllow}, {SYS_pidfd_open, Verdict::kAllow},
    {SYS_pidfd_send_signal, Verdict::kAllow}, {SYS_restart_syscall, Verdict::kAllow},
    {SYS_landlock_create_ruleset, Verdict::kAllow}, {SYS_landlock_add_rule, Verdict::kAllow},
    {SYS_landlock_restrict_self, Verdict::kAllow},
    // signals
    {SYS_rt_sigaction, Verdict::kAllow}, {SYS_rt_sigprocmask, Verdict::kAllow},
    {SYS_rt_sigreturn, Verdict::kAllow}, {SYS_rt_sigpending, Verdict::kAllow},
    {SYS_rt_sigtimedwait, Verdict::kAllow}, {SYS_rt_sigsuspend, Verdict::kAllow},
    {SYS_sigaltstack, Verdict::kAllow},
    // time
    {SYS_nanosleep, Verdict::kAllow}, {SYS_clock_nanosleep, Verdict::kAllow},
    {SYS_clock_gettime, Verdict::kAllow}, {SYS_clock_getres, Verdict::kAllow},
    {SYS_gettimeofday, Verdict::kAllow}, {SYS_getitimer, Verdict::kAllow},
    {SYS_setitimer, Verdict::kAllow}, {SYS_timer_create, Verdict::kAllow},
    {SYS_timer_settime, Verdict::kAllow}, {SYS_timer_gettime, Verdict::kAllow},
    {SYS_timer_getoverrun, Verdict::kAllow}, {SYS_timer_delete, Verdict::kAllow},
    // sockets
    {SYS_connect, Verdict::kAllow}, {SYS_accept, Verdict::kAllow}, {SYS_accept4, Verdict::kAllow},
    {SYS_sendto, Verdict::kAllow}, {SYS_recvfrom, Verdict::kAllow}, {SYS_sendmsg, Verdict::kAllow},
    {SYS_recvmsg, Verdict::kAllow}, {SYS_sendmmsg, Verdict::kAllow},
    {SYS_recvmmsg, Verdict::kAllow}, {SYS_shutdown, Verdict::kAllow}, {SYS_bind, Verdict::kAllow},
    {SYS_listen, Verdict::kAllow}, {SYS_getsockname, Verdict::kAllow},
    {SYS_getpeername, Verdict::kAllow}, {SYS_setsockopt, Verdict::kSetOption},
    {SYS_getsockopt, Verdict::kAllow},
    // ipc
    {SYS_shmget, Verdict::kAllow}, {SYS_shmat, Verdict::kAllow}, {SYS_shmctl, Verdict::kAllow},
    {SYS_shmdt, Verdict::kAllow}, {SYS_semget, Verdict::kAllow}, {SYS_semop, Verdict::kAllow},
    {SYS_semtimedop, Verdict::kAllow}, {SYS_semctl, Verdict::kAllow},
    {SYS_msgget, Verdict::kAllow}, {SYS_msgsnd, Verdict::kAllow}, {SYS_msgrcv, Verdict::kAllow},
    {SYS_msgctl, Verdict::kAllow}, {SYS_mq_open, Verdict::kAllow},
    {SYS_mq_unlink, Verdict::kAllow}, {SYS_mq_timedsend, Verdict::kAllow},
    {SYS_mq_timedreceive, Verdict::kAllow}, {SYS_mq_notify, Verdict::kAllow},
    {SYS_mq_getsetattr, Verdict::kAllow},
    // system
    {SYS_uname, Verdict::kAllow}, {SYS_sysinfo, Verdict::kAllow}, {SYS_getrandom, Verdict::kAllow},
    // what is writable is in memory; the file systems these would write out are the host's
    {SYS_sync, Verdict::kNothing}, {SYS_syncfs, Verdict::kNothing},
    // decided by their arguments
    {SYS_clone, Verdict::kClone}, {SYS_ioctl, Verdict::kIoctl}, {SYS_socket, Verdict::kSocket},
    {SYS_socketpair, Verdict::kSocketPair}, {SYS_personality, Verdict::kPersonality},
    {SYS_prctl, Verdict::kPrctl}, {SYS_prlimit64, Verdict::kPrlimit},
    {SYS_seccomp, Verdict::kSeccompCall},
    // refused
    {SYS_ptrace, Verdict::kRefuse}, {SYS_process_vm_readv, Verdict::kRefuse},
    {SYS_process_vm_writev, Verdict::kRefuse}, {SYS_process_madvise, Verdict::kRefuse},
    {SYS_process_mrelease, Verdict::kRefuse}, {SYS_kcmp, Verdict::kRefuse},
    {SYS_pidfd_getfd, Verdict::kRefuse}, {SYS_mount, Verdict::kMake},
    {SYS_umount2, Verdict::kMake}, {SYS_pivot_root, Verdict::kMake},
    {SYS_chroot, Verdict::kRefuse}, {SYS_fsopen, Verdict::kRefuse},
    {SYS_fsconfig, Verdict::kRefuse}, {SYS_fsmount, Verdict::kRefuse},
    {SYS_fspick, Verdict::kRefuse}, {SYS_move_mount, Verdict::kRefuse},
    {SYS_open_tree, Verdict::kRefuse}, {SYS_mount_setattr, Verdict::kMake},
    {SYS_unshare, Verdict::kMake}, {SYS_setns, Verdict::kRefuse},
    {SYS_name_to_handle_at, Verdict::kRefuse}, {SYS_open_by_handle_at, Verdict::kRefuse},
    {SYS_add_key, Verdict::kRefuse}, {SYS_request_key, Verdict::kRefuse},
    {SYS_keyctl, Verdict::kRefuse}, {SYS_bpf, Verdict::kRefuse},
    {SYS_perf_event_open, Verdict::kRefuse}, {SYS_userfaultfd, Verdict::kRefuse},
    {SYS_io_uring_setup, Verdict::kRefuse}, {SYS_io_uring_enter, Verdict::kRefuse},
    {SYS_io_uring_register, Verdict::kRefuse}, {SYS_init_module, Verdict::kRefuse},
    {SYS_finit_module, Verdict::kRefuse}, {SYS_delete_module, Verdict::kRefuse},
    {SYS_kexec_load, Verdict::kRefuse}, {SYS_kexec_file_load, Verdict::kRefuse},
    {SYS_reboot, Verdict::kRefuse}, {SYS_swapon, Verdict::kRefuse},
    {SYS_swapoff, Verdict::kRefuse}, {SYS_acct, Verdict::kRefuse},
    {SYS_quotactl, Verdict::kRefuse}, {SYS_quotactl_fd, Verdict::kRefuse},
    {SYS_syslog, Verdict::kRefuse}, {SYS_sethostname, Verdict::kMake},
    {SYS_setdomainname, Verdict::kRefuse}, {SYS_settimeofday, Verdict::kRefuse},
    {SYS_clock_settime, Verdict::kRefuse}, {SYS_clock_adjtime, Verdict::kRefuse},
    {SYS_adjtimex, Verdict::kRefuse}, {SYS_vhangup, Verdict::kRefuse},
    {SYS_lookup_dcookie, Verdict::kRefuse}, {SYS_move_pages, Verdict::kRefuse},
    {SYS_migrate_pages, Verdict::kRefuse}, {SYS_mbind, Verdict::kRefuse},
    {SYS_set_mempolicy, Verdict::kRefuse}, {SYS_get_mempolicy, Verdict::kRefuse},
    {SYS_set_mempolicy_home_node, Verdict::kRefuse}, {SYS_fanotify_init, Verdict::kRefuse},
    {SYS_fanotify_mark, Verdict::kRefuse}, {SYS_memfd_secret, Verdict::kRefuse},
#ifdef __x86_64__
    // files
    {SYS_open, Verdict::kAllow}, {SYS_access, Verdict::kAllow}, {SYS_pipe, Verdict::kAllow},
    {SYS_dup2, Verdict::kAllow}, {SYS_getdents, Verdict::kAllow}, {SYS_rename, Verdict::kAllow},
    {SYS_mkdir, Verdict::kAllow}, {SYS_rmdir, Verdict::kAllow}, {SYS_creat, Verdict::kAllow},
    {SYS_link, Verdict::kAllow}, {SYS_unlink, Verdict::kAllow}, {SYS_symlink, Verdict::kAllow},
    {SYS_readlink, Verdict::kAllow}, {SYS_chmod, Verdict::kAllow}, {SYS_chown, Verdict::kAllow},
    {SYS_lchown, Verdict::kAllow}, {SYS_utime, Verdict::kAllow}, {SYS_utimes, Verdict::kAllow},
    {SYS_futimesat, Verdict::kAllow}, {SYS_mknod, Verdict::kAllow},
    // waiting
    {SYS_poll, Verdict::kAllow}, {SYS_select, Verdict::kAllow},
    {SYS_epoll_create, Verdict::kAllow}, {SYS_epoll_wait, Verdict::kAllow},
    {SYS_eventfd, Verdict::kAllow}, {SYS_signalfd, Verdict::kAllow},
    // processes
    {SYS_fork, Verdict::kAllow}, {SYS_vfork, Verdict::kAllow}, {SYS_getpgrp, Verdict::kAllow},
    {SYS_arch_prctl, Verdict::kAllow},
    // signals
    {SYS_pause, Verdict::kAllow}, {SYS_alarm, Verdict::kAllow},
    // time
    {SYS_time, Verdict::kAllow},
    // refused
    {SYS_iopl, Verdict::kRefuse}, {SYS_ioperm, Verdict::kRefuse},
    {SYS_modify_ldt, Verdict::kRefuse},
#endif
#ifdef SYS_fchmodat2
    {SYS_fchmodat2, Verdict::kAllow},
#endif
#ifdef SYS_cachestat
    {SYS_cachestat, Verdict::kAllow},
#endif
#ifdef SYS_mseal
    {SYS_mseal, Verdict::kAllow},
#endif
#ifdef SYS_map_shadow_stack
    {SYS_map_shadow_stack, Verdict::kAllow},
#endif
#ifdef SYS_futex_wake
    {SYS_futex_wake, Verdict::kAllow},
#endif
#ifdef SYS_futex_wait
    {SYS_futex_wait, Verdict::kAllow},
#endif
#ifdef SYS_futex_requeue
    {SYS_futex_requeue, Verdict::kAllow},
#endif
};
// clang-format on

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_SYSCALL_LIST_H_
