import { chmod, mkdir, writeFile } from 'node:fs/promises'

// What a sandbox's own user is to read gets its mode by chmod: the service may run under any umask.

/** Makes a directory that every uid may read. */
export async function makeVisibleDirectory(path: string): Promise<void> {
  await mkdir(path)
  await chmod(path, 0o755)
}

/** Writes a new file that every uid may read. */
export async function writeVisibleFile(path: string, content: string | Uint8Array): Promise<void> {
  await writeFile(path, content, { flag: 'wx' })
  await chmod(path, 0o444)
}
