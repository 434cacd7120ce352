import { hasProgram, inputPath, type ProgramBounds, runConfined } from './confined-program.ts'
import { type Engine, EngineFailed } from './engine.ts'

const program = 'pocketsphinx_continuous'
/** The recogniser is about as fast as people speak. */
const bounds: ProgramBounds = { memoryBytes: 2 * 1024 ** 3, seconds: 900, outputBytes: 1024 ** 2 }

/** A local recogniser for American English: no recording leaves the machine. */
export const offlineEngine: Engine = {
  missing: () =>
    hasProgram(program)
      ? null
      : 'install the packages pocketsphinx and pocketsphinx-en-us, or name an engine under `transcription` in the configuration file',
  async transcribe({ samples }, signal) {
    const end = await runConfined([program, '-infile', inputPath, '-logfn', '/dev/null'], samples, bounds, signal)
    if (!end.ok) throw new EngineFailed(`the recogniser ended with ${end.outcome.slice(0, 200)}`)
    return { text: end.output.toString('utf8').split(/\s+/).join(' '), language: 'en' }
  },
}
