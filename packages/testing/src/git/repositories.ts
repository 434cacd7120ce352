import { createReadStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gitText, runGit } from '@berth/core/git/run-git.ts'

const sample = fileURLToPath(new URL('sample.fast-import', import.meta.url))

const ada = {
  GIT_AUTHOR_NAME: 'Ada Example',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada Example',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
}

/**
 * Makes the bundled sample, a bare repository with history, at `<root>/<owner>/<name>.git`.
 * @returns its path
 */
export async function sampleRepository(root: string, fullName = 'sample/greeter'): Promise<string> {
  const gitDir = join(root, `${fullName}.git`)
  await mkdir(gitDir, { recursive: true })
  await runGit(['init', '--bare', '--quiet', '--initial-branch=main', gitDir])
  await runGit(['fast-import', '--quiet', '--done'], { gitDir, input: createReadStream(sample) })
  return gitDir
}

/**
 * Makes a bare repository without a commit, at `<root>/<owner>/<name>.git`.
 * @param branch the one that HEAD names
 * @returns its path
 */
export async function emptyRepository(
  root: string,
  fullName: string,
  branch = 'main',
  options: readonly string[] = [],
): Promise<string> {
  const gitDir = join(root, `${fullName}.git`)
  await mkdir(gitDir, { recursive: true })
  await runGit(['init', '--bare', '--quiet', `--initial-branch=${branch}`, ...options, gitDir])
  return gitDir
}

/** Returns the commit at the tip of a branch. */
export const tipOf = (gitDir: string, branch: string) => gitText(['rev-parse', `refs/heads/${branch}`], { gitDir })

/** Makes a commit without a parent, and points a branch at it. */
export async function firstCommit(gitDir: string, branch: string, file: string): Promise<string> {
  const blob = await gitText(['hash-object', '-w', '--stdin'], { gitDir, input: file })
  const tree = await gitText(['mktree'], { gitDir, input: `100644 blob ${blob}\t${file}\n` })
  const oid = await gitText(['commit-tree', '-m', 'first', tree], { gitDir, env: ada })
  await runGit(['update-ref', `refs/heads/${branch}`, oid, ''], { gitDir })
  return oid
}

/**
 * Commits files on top of a commit and points a branch at the result.
 * @param files content by path at the top of the tree; null removes the file
 */
export async function commitTo(
  gitDir: string,
  branch: string,
  onto: string,
  files: Readonly<Record<string, string | null>>,
  message = `change ${branch}`,
): Promise<string> {
  const listed = (await gitText(['ls-tree', onto], { gitDir })).split('\n').filter(line => line !== '')
  const kept = listed.filter(line => !((line.split('\t')[1] as string) in files))
  const added: string[] = []
  for (const [path, content] of Object.entries(files)) {
    if (content === null) continue
    const blob = await gitText(['hash-object', '-w', '--stdin'], { gitDir, input: content })
    added.push(`100644 blob ${blob}\t${path}`)
  }
  const tree = await gitText(['mktree'], { gitDir, input: `${[...kept, ...added].join('\n')}\n` })
  const oid = await gitText(['commit-tree', '-p', onto, '-m', message, tree], { gitDir, env: ada })
  await runGit(['update-ref', `refs/heads/${branch}`, oid], { gitDir })
  return oid
}

/** Reads a file at a commit. */
export const fileAt = (gitDir: string, oid: string, path: string) => gitText(['show', `${oid}:${path}`], { gitDir })
