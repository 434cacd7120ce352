import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gitText } from '@berth/core/git/run-git.ts'

interface RequestedCommit {
  readonly message: string
  readonly tree: string
  readonly parents: readonly string[]
  readonly author?: unknown
  readonly committer?: unknown
}

const people = {
  GIT_AUTHOR_NAME: 'berth[bot]',
  GIT_AUTHOR_EMAIL: '7+berth[bot]@users.noreply.github.com',
  GIT_COMMITTER_NAME: 'GitHub',
  GIT_COMMITTER_EMAIL: 'noreply@github.com',
}

/** Commits that a test's GitHub makes of objects of a repository. It signs them by a key of its own. */
export class GitHubCommits implements Disposable {
  /** What it finds when it looks at its signature; `unsigned`: it makes none. */
  verification = { verified: true, reason: 'valid' }
  /** A tree that it commits in place of the one that was asked for. */
  otherTree: string | null = null
  /** Ids of the commits that it has made, oldest first. */
  readonly made: string[] = []
  #key: string | null = null

  /** Answers `POST …/git/commits`. */
  async make(gitDir: string, body: unknown): Promise<{ readonly status: number; readonly body: unknown }> {
    const { message, tree, parents, author, committer } = body as RequestedCommit
    if ((await gitText(['for-each-ref', '--count=1', 'refs/heads/'], { gitDir })) === '')
      return { status: 409, body: { message: 'Git Repository is empty.' } }
    const named = [['tree', tree] as const, ...parents.map(parent => ['commit', parent] as const)]
    for (const [kind, oid] of named) {
      const found = await gitText(['cat-file', '-t', oid], { gitDir, exits: [0, 128] })
      if (found !== kind) return { status: 422, body: { message: `The ${kind} does not exist` } }
    }
    // A commit that names somebody is not the bot's.
    const signs = this.verification.reason !== 'unsigned' && author === undefined && committer === undefined
    const key = ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${this.#signingKey()}`]
    const options = ['-m', message, ...(signs ? ['-S'] : []), ...parents.flatMap(parent => ['-p', parent])]
    const args = [...key, 'commit-tree', ...options, this.otherTree ?? tree]
    const sha = await gitText(args, { gitDir, env: people })
    this.made.push(sha)
    const verification = signs ? this.verification : { verified: false, reason: 'unsigned' }
    return { status: 201, body: { sha, tree: { sha: tree }, verification } }
  }

  /** Returns git's letter for the signature of a commit; `G` if it is this server's. */
  async verify(gitDir: string, oid: string): Promise<string> {
    const signers = ['-c', `gpg.ssh.allowedSignersFile=${this.#signingKey()}.signers`]
    return await gitText([...signers, 'log', '-1', '--format=%G?', oid], { gitDir })
  }

  [Symbol.dispose](): void {
    if (this.#key !== null) rmSync(join(this.#key, '..'), { recursive: true })
  }

  #signingKey(): string {
    if (this.#key !== null) return this.#key
    this.#key = join(mkdtempSync(join(tmpdir(), 'berth-github-')), 'key')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', this.#key])
    writeFileSync(`${this.#key}.signers`, `noreply@github.com ${readFileSync(`${this.#key}.pub`, 'utf8')}`)
    return this.#key
  }
}
