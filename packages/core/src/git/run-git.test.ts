import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { transferOptions } from './git-environment.ts'
import { GitError, gitText, runGit } from './run-git.ts'

const author = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' }
let dir = ''

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-git-'))
})
afterAll(() => rm(dir, { recursive: true }))

/** A bare repository whose configuration and hooks run a program that leaves a mark. */
async function hostileRepository(
  name: string,
): Promise<{ gitDir: string; oid: string; marks: () => Promise<string[]> }> {
  const gitDir = join(dir, `${name}.git`)
  const marks = join(dir, `${name}-marks`)
  const evil = join(dir, `${name}-evil`)
  await runGit(['init', '--bare', '--quiet', gitDir])
  await writeFile(evil, `#!/bin/sh\ntouch "${marks}-$(basename "$0")"\n`)
  await chmod(evil, 0o755)
  for (const hook of [
    'pre-receive',
    'update',
    'post-receive',
    'post-update',
    'reference-transaction',
    'pre-push',
    'proc-receive',
  ]) {
    await writeFile(join(gitDir, 'hooks', hook), `#!/bin/sh\ntouch "${marks}-${hook}"\n`)
    await chmod(join(gitDir, 'hooks', hook), 0o755)
  }
  const settings =
    `[core]\n\tfsmonitor = ${evil}\n\tsshCommand = ${evil}\n\taskPass = ${evil}\n\tgitProxy = ${evil}\n\tpager = ${evil}\n` +
    `[credential]\n\thelper = ${evil}\n[diff]\n\texternal = ${evil}\n[uploadpack]\n\tpackObjectsHook = ${evil}\n[core]\n\thooksPath = ${join(gitDir, 'hooks')}\n`
  await writeFile(join(gitDir, 'config'), `[core]\n\tbare = true\n\trepositoryformatversion = 0\n${settings}`)
  const tree = await gitText(['mktree'], { gitDir, input: '' })
  const oid = await gitText(['commit-tree', '-m', 'first', tree], { gitDir, env: author })
  return { gitDir, oid, marks: async () => (await readdir(dir)).filter(file => file.startsWith(`${name}-marks`)) }
}

describe('the service runs git', () => {
  test('without executing anything that a repository brings, at either end', async () => {
    const hostile = await hostileRepository('hostile')
    const remote = { url: hostile.gitDir }
    await runGit(['update-ref', 'refs/heads/main', hostile.oid], { gitDir: hostile.gitDir })
    const mirror = join(dir, 'mirror.git')
    await runGit(['init', '--bare', '--quiet', mirror])
    await runGit(['fetch', ...transferOptions('fetch', remote), remote.url, 'refs/heads/*:refs/heads/*'], {
      gitDir: mirror,
      remote,
    })
    const next = await gitText(['commit-tree', '-p', hostile.oid, '-m', 'second', `${hostile.oid}^{tree}`], {
      gitDir: mirror,
      env: author,
    })
    await runGit(['push', ...transferOptions('push', remote), remote.url, `${next}:refs/heads/new`], {
      gitDir: mirror,
      remote,
    })
    expect(await gitText(['rev-parse', 'refs/heads/new'], { gitDir: hostile.gitDir })).toBe(next)
    await runGit(['diff', '--no-ext-diff', hostile.oid, next], { gitDir: hostile.gitDir })
    expect(await hostile.marks()).toEqual([])
  })

  test('with nothing of this process in its environment, and its credential in no argument', async () => {
    process.env.GIT_DIR = '/nowhere'
    process.env.GIT_CONFIG_PARAMETERS = "'alias.boo=!echo boo'"
    try {
      const settings = await gitText(['config', '--list', '--show-scope'], {
        remote: { url: 'http://127.0.0.1:1/a.git', authorization: 'Basic c2VjcmV0' },
      })
      expect(settings.split('\n').filter(line => !line.startsWith('command\t'))).toEqual([])
      expect(settings).not.toContain('boo')
      expect(settings).toContain('extraheader=Authorization: Basic c2VjcmV0')
    } finally {
      delete process.env.GIT_DIR
      delete process.env.GIT_CONFIG_PARAMETERS
    }
  })

  test.each(['ext::sh -c "touch x"', 'ssh://127.0.0.1/a', 'git://127.0.0.1/a', 'http://127.0.0.1:1/a', '/tmp'])(
    'and reaches nothing but its remote: %s',
    async url => {
      const gitDir = join(dir, 'quiet.git')
      await runGit(['init', '--bare', '--quiet', gitDir])
      const failure = await runGit(['fetch', url], { gitDir, remote: { url: 'https://127.0.0.1:1/b' } }).catch(
        error => error,
      )
      expect(failure).toBeInstanceOf(GitError)
      expect(failure.message).toContain('not allowed')
    },
  )

  test('and does not wait for a remote that says nothing', async () => {
    const held: Socket[] = []
    const server = createServer(socket => held.push(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const remote = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.git` }
    try {
      const settings = await gitText(['config', '--get', 'http.lowSpeedTime'], { remote })
      expect(Number(settings)).toBeLessThanOrEqual(60)
      const env = { GIT_HTTP_LOW_SPEED_TIME: '1' }
      await expect(runGit(['ls-remote', remote.url], { remote, env })).rejects.toThrow('Operation too slow')
    } finally {
      for (const socket of held) socket.destroy()
      server.close()
    }
  })

  test('and ends it at its bounds of time and output and at its signal', async () => {
    const slow = ['-c', 'alias.slow=!sleep 60', 'slow']
    // bound: it is to be over
    await expect(runGit(slow, { timeoutMs: 50 })).rejects.toMatchObject({ bound: 'time' })
    const loud = ['-c', 'alias.loud=!yes', 'loud']
    await expect(runGit(loud, { maxOutputBytes: 1000 })).rejects.toMatchObject({ bound: 'output' })
    const abort = new AbortController()
    const running = runGit(slow, { signal: abort.signal })
    abort.abort(new Error('stopped'))
    await expect(running).rejects.toThrow('stopped')
  })
})
