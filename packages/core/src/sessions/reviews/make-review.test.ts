import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { openHelperGroup } from '@berth/sandboxes/confined/helper-group.ts'
import { startLeaseScript } from '@berth/sandboxes/confined/lease-script.ts'
import type { HelperBounds } from '@berth/sandboxes/helper-bounds.ts'
import type { LeaseScript } from '@berth/sandboxes/lease-program.ts'
import { instanceOf } from '@berth/sandboxes/linux/instance.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runGit } from '../../git/run-git.ts'
import { currentTree } from './current-tree.ts'
import { makeReview, type ReviewDocument } from './make-review.ts'
import { readWholeFiles } from './read-review.ts'
import { type ReviewPlace, ReviewRefused, reviewBounds } from './review-place.ts'

const run = promisify(execFile)
const key = { organizationId: 'a', sessionId: 'b' }
const uid = process.getuid?.() === 0 ? 23_456 : undefined

let dir = ''
let blobs: FileBlobs
let base = ''
let baseTree = ''
let count = 0
let workspace = ''
let project = ''

const gitEnv = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  // Git works here on files that the agent's user owns.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
}
const git = async (...args: string[]) => (await run('git', args, { cwd: project, env: gitEnv })).stdout.trim()

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-review-'))
  blobs = await FileBlobs.open(join(dir, 'blobs'))
  project = join(dir, 'origin')
  await mkdir(join(project, 'src'), { recursive: true })
  await git('init', '-q', '-b', 'main')
  await writeFile(join(project, 'README'), 'one\ntwo\nthree\n')
  await writeFile(join(project, '.gitignore'), 'build/\n*.log\n')
  await writeFile(join(project, 'src/a.ts'), Array.from({ length: 50 }, (_, at) => `line ${at}\n`).join(''))
  await writeFile(join(project, 'src/tool'), '#!/bin/sh\n')
  await git('add', '-A')
  const sub = `160000 ${'1'.repeat(40)} 0\tlibs/sub\0`
  await runGit(['update-index', '-z', '--index-info'], { gitDir: join(project, '.git'), input: sub })
  await git('commit', '-qm', 'first')
  base = await git('rev-parse', 'HEAD')
  baseTree = await git('rev-parse', 'HEAD^{tree}')
  await run('git', ['clone', '-q', '--bare', project, join(dir, 'mirror.git')], { env: gitEnv })
})
afterAll(() => rm(dir, { recursive: true, force: true }))

beforeEach(async () => {
  workspace = join(dir, `workspace-${++count}`)
  await mkdir(workspace)
  project = join(workspace, 'project')
  await run('git', ['clone', '-q', join(dir, 'mirror.git'), project], { env: gitEnv })
})

const changed = (name: string, text: string | Uint8Array) => writeFile(join(project, name), text)

async function place() {
  const scratch = await mkdtemp(join(dir, 'scratch-'))
  if (uid !== undefined) await run('chown', ['-R', `${uid}:${uid}`, workspace])
  const objects = (id: string) => join(dir, `${id}.git/objects`)
  const at = { workspace, home: workspace, scratchDir: scratch, objects, ...(uid !== undefined && { uid }) }
  return {
    run: (script: LeaseScript) => startLeaseScript(at, script),
    mirror: join(dir, 'mirror.git'),
    objects: 'mirror',
    scratch,
    bounds: reviewBounds,
  }
}

/** Returns the peak memory of this process's helper programs; undefined if no cgroup measures it. */
async function peakBytes(): Promise<number | undefined> {
  const tag = `${instanceOf(dir).tag}.helpers/${process.pid}`
  for (const path of [
    `/sys/fs/cgroup/memory/${tag}/memory.max_usage_in_bytes`,
    `/sys/fs/cgroup/${tag}/memory.peak`,
    `/sys/fs/cgroup/unified/${tag}/memory.peak`,
  ]) {
    const text = await readFile(path, 'utf8').catch(() => '')
    if (text !== '') return Number(text)
  }
  return undefined
}

type Made = ReviewDocument & { pack: string | null; whole: string | null }

async function review(): Promise<Made> {
  return reviewAt(await place())
}

const parts = (timeoutMs: number) => ({
  ...{ blobs, known: async () => null, made: async () => undefined, now: new Date() },
  signal: AbortSignal.timeout(timeoutMs),
})

async function reviewAt(at: ReviewPlace): Promise<Made> {
  const row = await makeReview(at, key, { baseOid: base, targetBranch: 'main' }, parts(60_000))
  const chunks: Buffer[] = []
  for await (const chunk of await blobs.get(row.document_sha256)) chunks.push(chunk)
  const whole = (await readWholeFiles(blobs, row))?.toString() ?? null
  return { ...JSON.parse(Buffer.concat(chunks).toString()), pack: row.pack_sha256, whole }
}

/** Returns each change as `status path`. */
const listed = (made: ReviewDocument) => made.files.map(({ status, path }) => `${status} ${path}`).toSorted()

describe('a review', () => {
  it('has a revision even if nothing has changed', async () => {
    const made = await review()
    expect(made).toMatchObject({ files: [], additions: 0, deletions: 0, patch: '', headTree: baseTree, pack: null })
    expect(made.revision).toMatch(/^[0-9a-f]{64}$/)
  })

  it('lists additions, deletions, renames, modes, links and binaries', async () => {
    await changed('README', 'one\n2\nthree\nfour\n')
    await git('mv', 'src/a.ts', 'src/b.ts')
    await rm(join(project, '.gitignore'))
    await chmod(join(project, 'src/tool'), 0o755)
    await symlink('/etc/passwd', join(project, 'link'))
    await changed('image', Buffer.from([1, 0, 2]))
    await changed('pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n')
    const made = await review()
    expect(made.files).toEqual([
      { path: '.gitignore', status: 'deleted', additions: 0, deletions: 2, binary: false },
      { path: 'README', status: 'modified', additions: 2, deletions: 1, binary: false },
      { path: 'image', status: 'added', additions: 0, deletions: 0, binary: true },
      {
        path: 'link',
        status: 'added',
        additions: 1,
        deletions: 0,
        binary: false,
        mode: '120000',
        target: '/etc/passwd',
      },
      { path: 'pointer', status: 'added', additions: 3, deletions: 0, binary: false },
      { path: 'src/b.ts', previousPath: 'src/a.ts', status: 'renamed', additions: 0, deletions: 0, binary: false },
      {
        ...{ path: 'src/tool', status: 'modified', additions: 0, deletions: 0, binary: false },
        ...{ previousMode: '100644', mode: '100755' },
      },
    ])
    expect(made).toMatchObject({ additions: 6, deletions: 3, patchTruncated: false })
    expect(made.patch).toContain('-two\n+2\n three\n+four\n')
    expect(made.patch).toContain('new mode 100755')
    expect(made.patch).toContain('+/etc/passwd')
  })

  it('keeps every line of the changed files, which no sandbox is needed for', async () => {
    await changed('src/a.ts', `${Array.from({ length: 50 }, (_, at) => `line ${at}`).join('\n')}\nand one\n`)
    const made = await review()
    expect(made.patch).not.toContain(' line 1\n')
    expect(made.whole).toContain('@@ -1,50 +1,51 @@\n line 0\n line 1\n')
    expect(made.whole).toContain(' line 49\n+and one\n')
  })

  it('has one revision whatever the agent committed or staged, and another for another tree', async () => {
    await changed('README', 'changed\n')
    await changed('new', 'new\n')
    const unstaged = await review()
    await git('add', 'README')
    const staged = await review()
    await git('add', '-A')
    await git('commit', '-qm', 'agent')
    const committed = await review()
    expect([staged.revision, committed.revision]).toEqual([unstaged.revision, unstaged.revision])
    expect(committed.patch).toBe(unstaged.patch)
    await changed('new', 'newer\n')
    expect((await review()).revision).not.toBe(unstaged.revision)
  })

  it('lists files that are not ignored, and ignored files that are tracked', async () => {
    await mkdir(join(project, 'build'))
    await changed('build/out', 'x')
    await changed('a.log', 'x')
    await changed('b.log', 'x')
    await changed('mine', 'x')
    await changed('private', 'x')
    await writeFile(join(project, '.git/info/exclude'), 'private\n')
    await git('add', '-f', 'a.log')
    expect(listed(await review())).toEqual(['added a.log', 'added mine'])
    await git('commit', '-qm', 'agent')
    await rm(join(project, 'a.log'))
    expect(listed(await review())).toEqual(['added mine'])
  })

  it('keeps submodules as they are and lists those that move, appear and go', async () => {
    expect(listed(await review())).toEqual([])
    const sub = join(project, 'libs/sub')
    await run('git', ['clone', '-q', join(dir, 'mirror.git'), sub], { env: gitEnv })
    await run('git', ['clone', '-q', join(dir, 'mirror.git'), join(project, 'nested')], { env: gitEnv })
    await run('git', ['init', '-q', join(project, 'empty')], { env: gitEnv })
    await changed('nested/README', 'dirty')
    const made = await review()
    expect(listed(made)).toContain('modified libs/sub')
    expect(made.patch).toContain(`+Subproject commit ${base}`)
    expect(listed(made)).toContain('added nested/README')
    await rm(sub, { recursive: true })
    expect(listed(await review())).toContain('deleted libs/sub')
  })

  it('lists names of any bytes', async () => {
    const names = ['a\nb', 'tab\there', ' lead', '"quoted"', 'é', '-rf', ':(top)x', '*']
    for (const name of names) await changed(name, 'x')
    await writeFile(Buffer.concat([Buffer.from(`${project}/`), Buffer.from([0xff, 0x41])]), 'x')
    const made = await review()
    expect(listed(made)).toEqual([...names.map(name => `added ${name}`), 'added "\\377A"'].toSorted())
  })

  it('executes nothing from the workspace', async () => {
    const mark = join(project, 'mark')
    const evil = join(project, 'evil')
    await changed('evil', `#!/bin/sh\ntouch ${mark} /workspace/project/mark /scratch/mark\n`)
    await chmod(evil, 0o777)
    const nested = join(project, 'nested')
    await run('git', ['clone', '-q', join(dir, 'mirror.git'), nested], { env: gitEnv })
    await changed('.gitattributes', '*.dat filter=evil\n* diff=evil merge=evil\n')
    await changed('a.dat', 'x')
    const settings = `[core]\n\tfsmonitor = ${evil}\n\thooksPath = ${project}\n\tsshCommand = ${evil}\n\tpager = ${evil}\n\teditor = ${evil}
[filter "evil"]\n\tclean = ${evil}\n\tsmudge = ${evil}\n\tprocess = ${evil}\n\trequired = true\n[diff "evil"]\n\ttextconv = ${evil}\n\tcommand = ${evil}
[include]\n\tpath = ${project}/more\n`
    for (const repository of [project, nested]) {
      const config = join(repository, '.git/config')
      await writeFile(config, `${await readFile(config, 'utf8')}${settings}`)
    }
    for (const hook of ['post-index-change', 'pre-commit', 'fsmonitor-watchman']) {
      await writeFile(join(project, '.git/hooks', hook), `#!/bin/sh\ntouch ${mark}\n`)
      await chmod(join(project, '.git/hooks', hook), 0o777)
      await changed(hook, `#!/bin/sh\ntouch ${mark}\n`)
      await chmod(join(project, hook), 0o777)
    }
    const making = async () => {
      const at = await place()
      const running = (script: LeaseScript) =>
        at.run({ ...script, script: `${script.script}\n[ ! -e /scratch/mark ] || { echo marked >&2; exit 9; }\n` })
      return makeReview({ ...at, run: running }, key, { baseOid: base, targetBranch: 'main' }, parts(20_000))
    }
    await expect(making()).rejects.toThrow('behind a filter is not delivered as it is: a.dat (evil)')
    await rm(join(project, 'a.dat'))
    const made = await making()
    expect(made.files_sha256).not.toBeNull()
    expect(await readdir(project)).not.toContain('mark')
  })

  it('reads nothing outside of the workspace, whatever links it holds', async () => {
    await writeFile(join(dir, 'secret'), 'secret of the host\n')
    await rm(join(project, 'src'), { recursive: true })
    await symlink(dir, join(project, 'src'))
    await rm(join(project, '.git/info'), { recursive: true })
    await symlink(dir, join(project, '.git/info'))
    const made = await review()
    expect(listed(made)).toEqual(['added src', 'deleted src/a.ts', 'deleted src/tool'])
    expect(made.patch).not.toContain('secret of the host')
    await rename(project, join(workspace, 'elsewhere'))
    await symlink(join(workspace, 'elsewhere'), project)
    await expect(review()).rejects.toThrow(ReviewRefused)
  })

  it('treats a file of a kind that git does not know as missing', async () => {
    await run('mkfifo', [join(project, 'pipe')])
    await rm(join(project, 'README'))
    await run('mkfifo', [join(project, 'README')])
    await changed('after', 'x')
    expect(listed(await review())).toContain('added after')
  })

  it('does not depend on the .git of the workspace, which may be gone or corrupt', async () => {
    await changed('README', 'changed\n')
    await writeFile(join(project, '.git/index'), 'DIRC nonsense')
    await writeFile(join(project, '.git/HEAD'), 'nonsense')
    expect(listed(await review())).toEqual(['modified README'])
    await rm(join(project, '.git'), { recursive: true })
    expect(listed(await review())).toEqual(['modified README'])
    await writeFile(join(project, '.git'), 'gitdir: /nowhere\n')
    expect(listed(await review())).toEqual(['modified README'])
  })

  it('never lists a path into a repository', async () => {
    await mkdir(join(project, 'x/.GIT'), { recursive: true })
    await changed('x/.GIT/config', 'x')
    await mkdir(join(project, 'x/git~1'))
    await changed('x/git~1/config', 'x')
    await changed('x/y', 'x')
    expect(listed(await review())).toEqual(['added x/y'])
  })

  it('lists files that the agent closed to itself', async () => {
    await changed('closed', 'x')
    await chmod(join(project, 'closed'), 0o000)
    if (uid === undefined) await expect(review()).rejects.toThrow('open("closed"): Permission denied')
    else expect(listed(await review())).toEqual(['added closed'])
  })

  it('cuts a patch at a mebibyte and lists ten thousand files', async () => {
    await mkdir(join(project, 'many'))
    for (let at = 0; at < 10_000; at++) await changed(`many/${at}`, `${at} ${'é'.repeat(60)}\n`)
    const made = await review()
    expect(made.files).toHaveLength(10_000)
    expect(made).toMatchObject({ additions: 10_000, patchTruncated: true })
    expect(Buffer.byteLength(made.patch)).toBeGreaterThan(1024 ** 2 - 4)
    expect(Buffer.byteLength(made.patch)).toBeLessThanOrEqual(1024 ** 2)
    expect(made.patch).not.toContain('\ufffd')
  })

  it('counts a file of only line ends as binary, and takes little memory for it', async () => {
    await using group = await openHelperGroup(dir, { memoryBytes: 2 * 1024 ** 3, cpus: 2, processes: 64 })
    await changed('lines', Buffer.alloc(30 * 1024 ** 2, '\n'))
    const made = await review()
    expect(made.files).toEqual([{ path: 'lines', status: 'added', additions: 0, deletions: 0, binary: true }])
    // Compared by lines, this file alone took 1.2 GiB, twice.
    expect((await peakBytes()) ?? 0).toBeLessThan(512 * 1024 ** 2)
    expect(group.description).toContain('helper programs')
  })

  it('is refused with the name of the bound that it goes over, and writes no more than that', async () => {
    const fileBytes = 4 * 1024 ** 2
    await changed('large', randomBytes(4 * fileBytes))
    const at = await place()
    const tight = (git: Partial<HelperBounds>) => ({
      ...at,
      bounds: { ...reviewBounds, git: { ...reviewBounds.git, ...git } },
    })
    await expect(reviewAt(tight({ fileBytes }))).rejects.toThrow('over a bound of reviews: file size')
    // The program's own directory may be on its way out: du then counts the rest, and fails.
    const { stdout } = await run('du', ['-s', '-B1', at.scratch]).catch((left: { stdout: string }) => left)
    expect(Number.parseInt(stdout, 10)).toBeLessThan(2 * fileBytes)
    await rm(join(project, 'large'))
    // Git tells lines apart in memory; most of 20 MiB is in use once it has started.
    await changed('lines', Buffer.alloc(3 * 1024 ** 2, '\n'))
    const other = { ...(await place()), bounds: tight({ memoryBytes: 60 * 1024 ** 2 }).bounds }
    await expect(reviewAt(other)).rejects.toThrow('over a bound of reviews: memory')
  })

  it('holds all files, or is refused in words of git that name the one it cannot take', async () => {
    for (let at = 0; at < 14; at++) await changed(`file-${at}`, 'x')
    await changed('bad.txt', 'x')
    await changed('.gitattributes', '*.txt working-tree-encoding=UTF-99\n')
    await expect(review()).rejects.toThrow("failed to encode 'bad.txt' from UTF-99")
    await changed('.gitattributes', '*.txt working-tree-encoding=UTF-16\n')
    await expect(review()).rejects.toThrow("BOM is required in 'bad.txt'")
    await changed('.git/info/exclude', '*.txt\n')
    expect(listed(await review())).toHaveLength(15)
    // Tracked although it is ignored.
    await changed('.gitattributes', '')
    await git('add', '-f', 'bad.txt')
    await changed('.gitattributes', '*.txt working-tree-encoding=UTF-16\n')
    await expect(review()).rejects.toThrow("BOM is required in 'bad.txt'")
    await changed('bad.txt', Buffer.from('\ufeffx\n', 'utf16le'))
    const made = await review()
    expect(listed(made)).toHaveLength(16)
    // As git itself would commit it.
    expect(made.patch).toContain('+x\n')
  })

  it('holds the warnings of git as notes, marked as its words', async () => {
    await changed('.gitattributes', '// Copyright Acme, Inc.\n')
    await changed('new', 'x')
    const made = await review()
    expect(listed(made)).toEqual(['added .gitattributes', 'added new'])
    expect(made.notes).toEqual(['git: Acme, is not a valid attribute name: .gitattributes:1'])
  })

  it('leaves the workspace unchanged, and can return the tree alone', async () => {
    await changed('README', 'changed\n')
    const before = await lstat(join(project, '.git/index'))
    const made = await review()
    expect(await currentTree(await place(), baseTree, AbortSignal.timeout(20_000))).toBe(made.headTree)
    expect((await lstat(join(project, '.git/index'))).mtimeMs).toBe(before.mtimeMs)
  })
})
