/** What a holder may leave in a sandbox for the next one, as data: how it is left, and how the next holder would see it. */

export interface Leak {
  readonly name: string;
  /** Run by the one holder. */
  readonly leave: string;
  /** What it prints must be the same in a sandbox that nobody has used. */
  readonly look: string;
  /** A sandbox may refuse it: then there is nothing to be seen. */
  readonly mayBeRefused?: boolean | undefined;
  /** Nothing runs in it any more afterwards, so that only the next holder can look. */
  readonly breaksIt?: boolean | undefined;
}

const WALK = 'find / \\( -path /proc -o -path /sys -o -path /usr -o -path /lib -o -path /lib64 \\) -prune -o';
const OWN = '/proc/[0-9]*';
/** System call numbers, which differ by processor. */
const CALL = 'my ($x, $a) = @_; `uname -m` =~ /aarch64/ ? $a : $x';
const PERL = (script: string): string => `perl -e 'sub n { ${CALL} } ${script}'`;
const DETACHED = (command: string): string => `setsid sh -c '(${command}) </dev/null >/dev/null 2>&1 &'; sleep 0.3`;

export const LEAKS: readonly Leak[] = [
  {
    name: 'a file in every directory that can be written',
    leave: `${WALK} -type d -print 2>/dev/null | while read -r d; do [ -w "$d" ] && echo secret >"$d/.left-here"; done 2>/dev/null; true`,
    look: `${WALK} -name .left-here -print 2>/dev/null`,
  },
  {
    name: 'directories that nobody may enter, and names that are hard to write',
    leave: `mkdir -p deep/er && echo secret >deep/er/x && chmod 0 deep/er deep && touch -- '-rf' "$(printf 'a\\nb')" && ln -s / root-link`,
    look: 'ls -A . ~ /tmp',
  },
  {
    name: 'a file that is kept from being removed',
    leave: 'echo secret >kept && chmod 400 kept && chmod 500 .; chattr +i kept 2>/dev/null; true',
    look: 'ls -A . && stat -c %a .',
  },
  {
    name: 'a process forked twice into a session of its own',
    leave: DETACHED('sleep 98761'),
    look: `cat ${OWN}/cmdline 2>/dev/null | tr "\\\\0" " " | grep -c "sleep 9876[1]"; true`,
  },
  {
    name: 'a process that outlives hang-ups and ignores every signal it can',
    leave: `nohup sh -c 'trap "" HUP INT TERM QUIT; (setsid sleep 98762 &)' >/dev/null 2>&1 & sleep 0.3`,
    look: `cat ${OWN}/cmdline 2>/dev/null | tr "\\\\0" " " | grep -c "sleep 9876[2]"; true`,
  },
  {
    name: 'a process under the name of another, stopped',
    leave: `${DETACHED('perl -e "\\$0 = q(sh); sleep 98763"')}; kill -STOP $(grep -l 98763 ${OWN}/cmdline | cut -d/ -f3) 2>/dev/null; true`,
    look: `ls -l ${OWN}/exe 2>/dev/null | grep -c "per[l]"; true`,
  },
  {
    name: 'sockets that listen',
    leave: DETACHED(
      `perl -MSocket -e "socket(S,PF_INET,SOCK_STREAM,0);bind(S,sockaddr_in(4711,INADDR_ANY));listen(S,5);socket(U,PF_INET,SOCK_DGRAM,0);bind(U,sockaddr_in(4712,INADDR_ANY));socket(X,PF_UNIX,SOCK_STREAM,0);bind(X,pack_sockaddr_un(qq(\\\\0left)));listen(X,5);sleep 1000"`,
    ),
    look: `grep -c -e ":1267 .* 0A" /proc/net/tcp; grep -c ":1268 " /proc/net/udp; grep -c "@left" /proc/net/unix; true`,
  },
  { name: 'shared memory in a file', leave: 'echo secret >/dev/shm/left', look: 'ls -A /dev/shm' },
  {
    name: 'shared memory, semaphores and messages of System V',
    leave: PERL(
      'shmget(4711,4096,0666|01000)//die;semget(4711,1,0666|01000)//die;$q=msgget(4711,0666|01000)//die;msgsnd($q,pack("l! a*",1,"secret"),0)||die',
    ),
    look: PERL(
      'print defined shmget(4711,0,0) ? "shm " : "", defined semget(4711,0,0) ? "sem " : "", defined msgget(4711,0) ? "msg" : ""',
    ),
  },
  {
    name: 'a message queue of POSIX',
    leave: PERL('$n="left";exit(syscall(n(240,180),$n,0102,0600,0) < 0)'),
    look: PERL('$n="left";print syscall(n(240,180),$n,02,0,0) < 0 ? "none" : "there"'),
    mayBeRefused: true,
  },
  {
    name: 'keys in the kernel',
    leave: PERL(
      '($t,$d,$p)=("user","left","secret");$k=0;for $r (-3,-4,-5){$k++ if syscall(n(248,217),$t,$d,$p,6,$r)>=0}exit !$k',
    ),
    look: PERL(
      '($t,$d)=("user","left");for $r (-3,-4,-5){print syscall(n(250,219),10,$r,$t,$d,0) < 0 ? "none " : "there "}',
    ),
    mayBeRefused: true,
  },
  {
    name: 'a table of cron',
    leave:
      'for d in /var/spool/cron/crontabs /etc/cron.d ~/.cron /tmp/cron; do mkdir -p $d && echo "* * * * * left" >$d/left; done 2>/dev/null; true',
    look: 'cat /var/spool/cron/crontabs/left /etc/cron.d/left ~/.cron/left /tmp/cron/left 2>/dev/null; true',
  },
  {
    name: 'a job of at, and a process that waits for its time',
    leave: `for d in /var/spool/at /var/spool/cron/atjobs ~/.at; do mkdir -p $d && echo left >$d/a1; done 2>/dev/null; ${DETACHED('sleep 98764; echo late >/workspace/late')}`,
    look: `cat /var/spool/at/a1 /var/spool/cron/atjobs/a1 ~/.at/a1 2>/dev/null; cat ${OWN}/cmdline 2>/dev/null | tr "\\\\0" " " | grep -c "sleep 9876[4]"; true`,
  },
  {
    name: 'files that set variables',
    leave: `for f in ~/.profile ~/.bashrc ~/.bash_profile ~/.env ~/.ssh/environment .env /etc/environment /etc/profile.d/left.sh; do mkdir -p "$(dirname $f)" && echo 'export LEFT=secret' >$f; done 2>/dev/null; true`,
    look: 'cat ~/.profile ~/.bashrc ~/.bash_profile ~/.env ~/.ssh/environment .env /etc/environment /etc/profile.d/left.sh 2>/dev/null; sh -lc "echo LEFT=$LEFT"',
  },
  {
    name: 'the history of a shell, and what programs remember of their user',
    leave:
      'for f in .bash_history .ash_history .python_history .gitconfig .netrc .npmrc .cache/token; do mkdir -p ~/.cache; echo secret >~/$f; done',
    look: 'ls -A ~',
  },
  {
    name: 'a changed /etc',
    leave: `for f in hosts passwd group resolv.conf hostname ld.so.preload nsswitch.conf; do echo "# left" >>/etc/$f; done 2>/dev/null; true`,
    look: 'cat /etc/hosts /etc/passwd /etc/group /etc/resolv.conf /etc/hostname /etc/ld.so.preload /etc/nsswitch.conf 2>/dev/null | grep -c "# left"; true',
    mayBeRefused: true,
  },
  {
    name: 'a fifo that is held open',
    leave: `mkfifo /tmp/left.fifo; ${DETACHED('exec 9<>/tmp/left.fifo; sleep 98765')}`,
    look: `ls /tmp; ls -l ${OWN}/fd 2>/dev/null | grep -c "left.fif[o]"; true`,
  },
  {
    name: 'a watch on the working directory',
    leave: DETACHED(
      `perl -e "\\$w=q(/workspace);\\$a=qx(uname -m)=~/aarch64/;\\$f=syscall(\\$a?26:294,0);syscall(\\$a?27:254,\\$f,\\$w,0xfff);sleep 98766"`,
    ),
    look: `ls -l ${OWN}/fd 2>/dev/null | grep -c "inotif[y]"; true`,
  },
  {
    name: 'limits, priorities and processors of the shells that wait',
    leave: `sleep 0.5; for p in ${OWN}; do p=\${p#/proc/}; prlimit --pid $p --nofile=64:64 --fsize=1000:1000 --core=0:0; renice -n 19 -p $p; taskset -p 1 $p; echo 900 >/proc/$p/oom_score_adj; done >/dev/null 2>&1; true`,
    look: 'ulimit -n; ulimit -f; ulimit -c; cat /proc/self/oom_score_adj; grep Cpus_allowed_list /proc/self/status; nice',
    mayBeRefused: true,
  },
  {
    name: 'a shell that was tampered with: its path, its aliases, what is loaded into programs',
    leave: `mkdir -p ~/bin ~/.local/bin && printf '#!/bin/sh\\necho tampered\\n' >~/bin/ls && chmod +x ~/bin/ls && cp ~/bin/ls ~/.local/bin/ls; for d in /usr/local/bin /usr/local/sbin /bin; do cp ~/bin/ls $d/ls; done 2>/dev/null; echo "alias ls='echo tampered'; cd() { echo tampered; }" | tee ~/.shrc ~/.bashrc >~/.profile; echo x >/tmp/preload.so; export ENV=~/.shrc LD_PRELOAD=/tmp/preload.so; true`,
    look: 'ls -A ~ /tmp; sh -lc "ls / >/dev/null; cd / && echo cd"; echo "$ENV $LD_PRELOAD $PATH"; cat /bin/ls /usr/local/bin/ls 2>/dev/null | grep -c tampered; true',
  },
  {
    name: 'shells that wait and were killed, stopped or written to',
    leave: `for f in /run/sublet/channel/*.control /run/sublet/channel/*.script; do [ -p $f ] && timeout 1 sh -c "echo 'echo tampered >/tmp/tampered' 1<>$f >&1" 1<>$f; done 2>/dev/null; for p in ${OWN}; do p=\${p#/proc/}; [ $p = $$ ] || [ $p = 1 ] || kill -STOP $p; done 2>/dev/null; kill -9 -1`,
    look: 'ls -A /tmp; echo answers',
    breaksIt: true,
  },
  {
    name: 'a mount',
    leave:
      'mkdir -p /tmp/m; mount -t tmpfs left /tmp/m || unshare -Urm mount -t tmpfs left /tmp/m; mount -o bind /tmp /workspace; test -n "$(grep left /proc/self/mounts)"',
    look: 'cut -d" " -f2,3 /proc/self/mounts | sort',
    mayBeRefused: true,
  },
  {
    name: 'the working directory itself: rights, owner, time, attributes',
    leave: `touch -d "2001-02-03 04:05" . ~ /tmp; chmod 2711 . ~; chmod 755 /tmp; chgrp 12345 . 2>/dev/null; ${PERL('($p,$n,$v)=("/workspace","user.left","secret");syscall(n(188,5),$p,$n,$v,6,0)')}`,
    look: `stat -c "%a %u %g" . ~ /tmp; stat -c %y . ~ /tmp | grep -c ^2001; ${PERL('($p,$n,$v)=("/workspace","user.left","x"x20);print syscall(n(191,8),$p,$n,$v,20)')}`,
  },
  {
    name: 'the name of the machine, and settings of its kernel',
    leave:
      'hostname left || true; for f in kernel/hostname kernel/domainname kernel/shmmax fs/mqueue/queues_max net/ipv4/ip_unprivileged_port_start; do echo 7 >/proc/sys/$f; done 2>/dev/null; false',
    look: 'grep -c left /proc/sys/kernel/hostname; cat /proc/sys/kernel/domainname /proc/sys/kernel/shmmax /proc/sys/fs/mqueue/queues_max /proc/sys/net/ipv4/ip_unprivileged_port_start 2>/dev/null; true',
    mayBeRefused: true,
  },
];
