import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { runProgram } from './run-program.ts'
import { textResult } from './text-result.ts'

const Parameters = Type.Object({
  path: Type.String({ description: 'Path of the file (relative or absolute)' }),
  name: Type.Optional(Type.String({ description: 'Name that people see; by default the file name' })),
})

/** Returns a tool that runs the sandbox's `berth-present`; the platform stores the file when the Run ends. */
export function presentFile(cwd: string) {
  return defineTool({
    name: 'present_file',
    label: 'present_file',
    description:
      'Give the user a file, as it is now: a report, a picture, a build. For results that are not changes to the code.',
    parameters: Parameters,
    async execute(_toolCallId, { path, name }, signal) {
      const options = name === undefined ? [] : ['--name', name]
      const limits = { cwd, signal, timeoutMs: 60_000, maxBytes: 16_384 }
      const {
        exitCode,
        output: bytes,
        timedOut,
      } = await runProgram(['berth-present', ...options, '--', path], limits).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
        throw new Error('Files cannot be presented here: there is no berth-present. Name the file by its path instead.')
      })
      const output = bytes.toString('utf8')
      if (timedOut) throw new Error(`The file was not presented within ${limits.timeoutMs / 1000} seconds.`)
      if (exitCode !== 0) throw new Error(output.trim() || `The file was not presented (exit code ${exitCode}).`)
      return textResult(output.trim() || `presented ${path}`)
    },
  })
}
