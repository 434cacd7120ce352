import { normalize } from 'node:path'
import type { Contributions } from './manifest.ts'

/** Files in which an extension names its servers, if its manifest does not. */
const serverFiles: readonly string[] = ['mcp.json', '.mcp.json']

/**
 * Returns true if an archive holds no skill, no command and no server, so that no runtime gets anything of it. What its
 * files say is not read: one that cannot be used is told of when an environment is applied.
 * @param names of all its entries
 */
export function bringsNothing(
  { skills = ['skills'], commands = ['commands'], mcpServers }: Contributions,
  names: readonly string[],
): boolean {
  const below = (directory: string) => {
    const prefix = `${normalize(directory).replace(/\/$/, '')}/`
    return names.filter(name => name.startsWith(prefix)).map(name => name.slice(prefix.length))
  }
  const hasSkill = skills.some(directory => below(directory).some(name => /^(?:[^/]+\/)?SKILL\.md$/.test(name)))
  const hasCommand = commands.some(directory => below(directory).some(name => /^[^/]+\.md$/.test(name)))
  const hasServer =
    typeof mcpServers === 'object'
      ? Object.keys(mcpServers).length > 0
      : (mcpServers === undefined ? serverFiles : [mcpServers]).some(path => names.includes(normalize(path)))
  return !hasSkill && !hasCommand && !hasServer
}
