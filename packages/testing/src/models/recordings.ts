import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Recordings for tests, made by programs of the system. */
export interface Recordings extends AsyncDisposable {
  /** Returns the text as spoken WAV. The offline recogniser understands the voice. */
  speech(text: string): Promise<Buffer>
  /** Returns the sound of one of ffmpeg's sources, such as `sine=duration=2`. */
  sound(source: string): Promise<Buffer>
  /** Returns the same recording in another container. */
  as(recording: Buffer, name: string, ...options: readonly string[]): Promise<Buffer>
}

export async function openRecordings(): Promise<Recordings> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-audio-'))
  let made = 0
  const file = (name: string) => join(directory, `${made++}-${name}`)
  const ffmpeg = async (args: readonly string[], name: string, input?: Buffer) => {
    const target = file(name)
    const done = run('ffmpeg', ['-nostdin', '-v', 'error', '-y', ...args, target])
    if (input !== undefined) done.child.stdin?.end(input)
    await done
    return readFile(target)
  }
  return {
    async speech(text) {
      const target = file('speech.wav')
      await run('espeak-ng', ['-v', 'en-us+m3', '-s', '120', '-w', target, text])
      return readFile(target)
    },
    sound: source => ffmpeg(['-f', 'lavfi', '-i', source], 'sound.wav'),
    as: (recording, name, ...options) => ffmpeg(['-f', 'wav', '-i', 'pipe:0', ...options], name, recording),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}
