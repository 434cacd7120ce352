import { execFileSync } from 'node:child_process'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { spawn } from '../../../../script/testing/spawn.ts'

/** Makes the bare repository `one.git` in a directory, with one commit on its branch `main`. */
export function makeGitRepository(root: string): void {
  const at = join(root, 'one.git')
  const work = join(root, 'work')
  for (const args of [
    ['init', '-q', '--bare', at],
    ['clone', '-q', at, work],
    ['-C', work, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'first'],
    ['-C', work, 'push', '-q', 'origin', 'HEAD:main'],
    ['-C', at, 'symbolic-ref', 'HEAD', 'refs/heads/main'],
  ])
    execFileSync('git', args, { stdio: 'ignore' })
}

/** Serves the repositories of a directory by git's own CGI program, to requests with the given `Authorization`. */
export function gitHttpHost(root: string, authorization: string): RequestListener {
  return (incoming: IncomingMessage, response: ServerResponse) => {
    const isMine = incoming.headers.authorization === authorization
    if (!isMine) return void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end('who are you?')
    const [path = '', query = ''] = (incoming.url ?? '').split('?')
    const child = spawn('git', ['http-backend'], {
      env: {
        ...{ PATH: process.env.PATH, GIT_PROJECT_ROOT: root, GIT_HTTP_EXPORT_ALL: '1', REMOTE_USER: 'agent' },
        ...{ PATH_INFO: path, QUERY_STRING: query, REQUEST_METHOD: incoming.method },
        ...{
          CONTENT_TYPE: incoming.headers['content-type'] ?? '',
          HTTP_CONTENT_ENCODING: incoming.headers['content-encoding'] ?? '',
        },
      },
    })
    incoming.pipe(child.stdin)
    let out = Buffer.alloc(0)
    child.stdout.on('data', (part: Buffer) => {
      out = Buffer.concat([out, part])
    })
    child.on('close', () => {
      const end = out.indexOf('\r\n\r\n')
      for (const line of out.subarray(0, end).toString().split('\r\n')) {
        const [name = '', value = ''] = line.split(': ')
        if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
        else response.setHeader(name, value)
      }
      response.end(out.subarray(end + 4))
    })
  }
}
