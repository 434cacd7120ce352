import { cp, realpath } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modes, StartedSandbox } from './started-sandbox.ts'

interface Program {
  readonly name: string
  readonly script: string
  /** The last lines of its output. */
  readonly prints: string
}

const programs: readonly Program[] = [
  {
    name: 'git, which commits, clones and repacks',
    script: `git config --global user.email a@b; git config --global user.name a
      git init -q one; cd one; echo text > file; git add .; git commit -qm first; cd ..
      git clone -q one two; cd two; git gc -q; git fsck --no-progress; git log --format=%s`,
    prints: 'first',
  },
  {
    name: 'git, which commits in a repository of its own for the agent, or for whom the home names',
    script: `export HOME=$(mktemp -d); git init -q own; cd own; git commit -q --allow-empty -m x
      git config --global user.name b; git config --global user.email b@c; git commit -q --allow-empty -m y
      git log --reverse '--format=%an %ae'`,
    prints: 'agent agent@localhost\nb b@c',
  },
  {
    name: 'worker threads of Node',
    script: `/opt/berth/node -e 'const { Worker } = require("node:worker_threads")
      new Worker("require(\\"node:worker_threads\\").parentPort.postMessage(6 * 7)", { eval: true })
        .on("message", answer => console.log(answer))'`,
    prints: '42',
  },
  {
    name: 'child processes of Node, with a channel',
    script: `echo 'process.send(6 * 7)' > child.cjs
      /opt/berth/node -e 'require("node:child_process").fork("./child.cjs").on("message", answer => console.log(answer))'`,
    prints: '42',
  },
  {
    name: 'a server and a client of Node on loopback',
    script: `/opt/berth/node -e 'const server = require("node:http").createServer((_, response) => response.end("served"))
      server.listen(0, "localhost", async () => {
        const answer = await fetch("http://localhost:" + server.address().port)
        console.log(await answer.text()); server.closeAllConnections(); server.close() })'`,
    prints: 'served',
  },
  {
    name: 'processes of Python, with a pool and shared memory',
    script: `cat > pool.py <<'END'
import multiprocessing
from multiprocessing import shared_memory
def square(number):
    return number * number
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, [1, 2, 3]))
    memory = shared_memory.SharedMemory(create=True, size=8)
    memory.buf[0] = 42
    print(memory.buf[0])
    memory.close()
    memory.unlink()
END
      /usr/bin/python3 pool.py`,
    prints: '[1, 4, 9]\n42',
  },
  {
    name: 'subprocesses and a terminal of Python',
    script: `cat > terminal.py <<'END'
import pty, subprocess
print(subprocess.run(["echo", "run"], capture_output=True, text=True).stdout.strip(), flush=True)
pty.spawn(["/bin/sh", "-c", "test -t 0 && echo terminal"])
END
      /usr/bin/python3 terminal.py </dev/null | tr -d '\\r'`,
    prints: 'run\nterminal',
  },
  {
    name: 'npm, which installs from a lock file',
    script: `mkdir dependency; echo '{"name":"dependency","version":"1.0.0"}' > dependency/package.json
      echo 'module.exports = 42' > dependency/index.js; $npm pack --silent ./dependency >/dev/null
      echo '{"name":"p","version":"1.0.0","dependencies":{"dependency":"file:dependency-1.0.0.tgz"}}' > package.json
      $npm install --package-lock-only --offline --silent --no-audit; rm -rf node_modules
      $npm ci --offline --silent --no-audit; /opt/berth/node -p 'require("dependency")'`,
    prints: '42',
  },
  {
    name: 'strace of a program of its own',
    script: `strace -f -o trace sh -c '/bin/echo traced'; grep -c 'execve("/bin/echo"' trace`,
    prints: 'traced\n1',
  },
  {
    name: 'an own filter of system calls, as browsers have one',
    // `seccomp` with a program of one instruction that allows everything.
    script: `perl -e 'my $code = pack("SCCL", 6, 0, 0, 0x7fff0000); my $program = pack("S x6 P", 1, $code)
      ; my @call = (${process.arch === 'x64' ? 317 : 277}, 1, 0, $program); print syscall(shift @call, @call), "\\n"'`,
    prints: '0',
  },
  {
    name: 'Chromium without its own sandbox',
    script: `chromium-headless-shell --no-sandbox --dump-dom \\
      'data:text/html,<p id=answer></p><script>answer.append(6 * 7)</script>' 2>/dev/null | grep -o '>42<'`,
    prints: '>42<',
  },
]

/** Returns npm's directory if sandboxes do not see it, as with an installation in a home directory. */
async function npmOutsideOfSystem(): Promise<string | undefined> {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const program = await realpath(join(directory, 'npm')).catch(() => undefined)
    if (program !== undefined) return program.startsWith('/usr/') ? undefined : dirname(dirname(program))
  }
  return undefined
}

describe.each(modes)('in a sandbox $mode', ({ user }) => {
  let sandbox: StartedSandbox
  let npm = 'npm'

  beforeAll(async () => {
    const directory = await npmOutsideOfSystem()
    sandbox = await StartedSandbox.start(user, async bundles => {
      if (directory === undefined) return
      await cp(directory, join(bundles, 'npm'), { recursive: true })
      npm = '/opt/berth/node /opt/berth/bundles/npm/bin/npm-cli.js'
    })
  }, 60_000)
  afterAll(() => sandbox[Symbol.asyncDispose]())

  it.each(programs)('a program works: $name', { timeout: 120_000 }, async ({ script, prints }) => {
    const { out } = await sandbox.run(`npm='${npm}'; mkdir -p /tmp/npm && cd "$(mktemp -d /tmp/npm/XXXX)"\n${script}`)
    expect(out.trim().split('\n').slice(-prints.split('\n').length).join('\n')).toBe(prints)
  })
})
