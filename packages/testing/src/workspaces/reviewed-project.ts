import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeReview, type ReviewDocument } from '@berth/core/sessions/reviews/make-review.ts'
import { type ReviewPlace, reviewBounds } from '@berth/core/sessions/reviews/review-place.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { startLeaseScript } from '@berth/sandboxes/confined/lease-script.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import type { LeaseScript } from '@berth/sandboxes/lease-program.ts'

const run = promisify(execFile)

const gitEnv = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  // Git works here on files that the agent's user owns.
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
  GIT_CONFIG_KEY_1: 'protocol.file.allow',
  GIT_CONFIG_VALUE_1: 'always',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
}

/** A workspace whose project was checked out from a mirror, and which is reviewed by the programs of a real sandbox. */
export interface ReviewedProject extends AsyncDisposable {
  /** Path of the project on this machine; programs of the sandbox see it as `/workspace/project`. */
  readonly path: string
  /** A bare repository that holds the base. */
  readonly mirror: string
  write(name: string, content: string | Uint8Array): Promise<void>
  read(name: string): Promise<string>
  /** Runs git in the project, as the agent would. @returns its output */
  git(...args: readonly string[]): Promise<string>
  /** Runs a script of sh in the project. */
  sh(script: string): Promise<void>
  review(): Promise<ReviewDocument>
  /** Reviews the project. @returns the commands of git that the review started at the files to change its index */
  updates(): Promise<readonly string[]>
  /** Returns each change of a review as `status path`. */
  changes(): Promise<readonly string[]>
}

/** Has each git of a script note its command in the home. */
const traced = (script: LeaseScript): LeaseScript => ({
  ...script,
  trees: { ...script.trees, home: 'write' },
  environment: { ...script.environment, GIT_TRACE2: `${insidePaths.home}/gits`, GIT_TRACE2_BRIEF: '1' },
})

/** Makes a project with a base commit of the given files, which `prepare` may add to before the commit. */
export async function openReviewedProject(
  files: Readonly<Record<string, string | Uint8Array>>,
  prepare?: (git: ReviewedProject['git'], path: string) => Promise<void>,
): Promise<ReviewedProject> {
  const dir = await mkdtemp(join(tmpdir(), 'berth-reviewed-'))
  const uid = process.getuid?.() === 0 ? 23_456 : undefined
  const workspace = join(dir, 'workspace')
  const path = join(workspace, 'project')
  const mirror = join(dir, 'mirror.git')
  const blobs = await FileBlobs.open(join(dir, 'blobs'))
  const gitIn =
    (cwd: string) =>
    async (...args: readonly string[]) =>
      (await run('git', args, { cwd, env: gitEnv })).stdout.trim()
  const write = async (at: string, content: string | Uint8Array) => {
    await mkdir(dirname(at), { recursive: true })
    await writeFile(at, content)
  }
  const origin = join(dir, 'origin')
  await mkdir(origin)
  const ofOrigin = gitIn(origin)
  await ofOrigin('init', '-q', '-b', 'main')
  for (const [name, content] of Object.entries(files)) await write(join(origin, name), content)
  await ofOrigin('add', '-A')
  await prepare?.(ofOrigin, origin)
  await ofOrigin('commit', '-qm', 'base')
  const baseOid = await ofOrigin('rev-parse', 'HEAD')
  await run('git', ['clone', '-q', '--bare', origin, mirror], { env: gitEnv })
  await mkdir(workspace)
  // As a kept checkout has it.
  const kept = ['core.checkStat=minimal', 'feature.manyFiles=true'].flatMap(setting => ['--config', setting])
  await run('git', ['clone', '-q', ...kept, mirror, path], { env: gitEnv })

  const home = join(dir, 'home')
  await mkdir(home)
  const place = async (): Promise<ReviewPlace> => {
    const scratch = await mkdtemp(join(dir, 'scratch-'))
    if (uid !== undefined) await run('chown', ['-R', `${uid}:${uid}`, workspace, home])
    const objects = () => join(mirror, 'objects')
    const at = { workspace, home, scratchDir: scratch, objects, ...(uid !== undefined && { uid }) }
    return {
      run: script => startLeaseScript(at, traced(script)),
      ...{ mirror, objects: 'mirror', scratch, bounds: reviewBounds },
    }
  }
  const review = async (): Promise<ReviewDocument> => {
    const row = await makeReview(
      await place(),
      { organizationId: 'a', sessionId: 'b' },
      { baseOid, targetBranch: 'main' },
      {
        ...{ blobs, known: async () => null, made: async () => undefined, now: new Date() },
        signal: AbortSignal.timeout(60_000),
      },
    )
    const chunks: Buffer[] = []
    for await (const chunk of await blobs.get(row.document_sha256)) chunks.push(chunk)
    return JSON.parse(Buffer.concat(chunks).toString())
  }
  return {
    path,
    mirror,
    write: (name, content) => write(join(path, name), content),
    read: name => readFile(join(path, name), 'utf8'),
    git: gitIn(path),
    sh: async script => void (await run('sh', ['-ec', script], { cwd: path, env: gitEnv })),
    review,
    updates: async () => {
      await rm(join(home, 'gits'), { force: true })
      await review()
      const lines = (await readFile(join(home, 'gits'), 'utf8')).split('\n')
      return lines.filter(line => line.startsWith('start git update-index '))
    },
    changes: async () => (await review()).files.map(({ status, path: at }) => `${status} ${at}`).toSorted(),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  }
}
