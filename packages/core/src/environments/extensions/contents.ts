import { isUtf8 } from 'node:buffer'
import { access, chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join, normalize } from 'node:path'
import type { Contributions, Manifest } from '../archives/manifest.ts'
import { type ExtensionPlaces, readServers, type ServerTemplate, type ServerTemplates } from './server-template.ts'

/** Longest list of servers, and longest command. */
const MAX_BYTES = 1024 ** 2
const SKILL_FILE = 'SKILL.md'
const skillName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const MAX_DESCRIPTION = 1000

/** Names of the directories of an unpacked extension. */
export const unpackedNames = { content: 'content', commands: 'commands' } as const

/** A skill of an extension. */
export interface ExtensionSkill {
  readonly name: string
  /** Its directory, relative to the directory of the unpacked extension. */
  readonly from: string
}

/** Everything that an extension brings. */
export interface ExtensionContents {
  readonly skills: readonly ExtensionSkill[]
  readonly servers: readonly ServerTemplate[]
  /** Parts that cannot be used, each with its reason. */
  readonly leftOut: readonly string[]
}

/** Returns the directories of an extension as the sandbox sees them. */
export const placesOf = (id: string): ExtensionPlaces => ({
  root: `/opt/extensions/${id}`,
  data: `/home/agent/.local/share/extensions/${id}`,
})

/**
 * Returns what an unpacked extension brings. A command becomes a skill of its name, in a directory beside the content.
 * The archive's reader has proved that nothing in it is a link.
 * @param directory of the unpacked extension
 */
export async function readContents(
  directory: string,
  { identity, contributes }: Pick<Manifest, 'identity' | 'contributes'>,
): Promise<ExtensionContents> {
  const content = join(directory, unpackedNames.content)
  const leftOut: string[] = []
  const skills = new Map<string, ExtensionSkill>()
  const add = (skill: ExtensionSkill) => {
    if (!skillName.test(skill.name)) leftOut.push(`skill ${skill.name.slice(0, 64)}: its name is not valid`)
    else if (skills.has(skill.name)) leftOut.push(`skill ${skill.name}: the extension has two of this name`)
    else skills.set(skill.name, skill)
  }
  for (const path of await directoriesOf(content, contributes.skills, ['skills'], leftOut)) {
    for (const found of await skillsIn(content, path)) {
      add({ name: basename(found === '.' ? identity.id : found), from: join(unpackedNames.content, found) })
    }
  }
  for (const path of await directoriesOf(content, contributes.commands, ['commands'], leftOut)) {
    for (const name of await commandsIn(content, path)) {
      const isNew = !skills.has(name) && skillName.test(name)
      if (!isNew || (await writeCommand(directory, join(content, path), name)))
        add({ name, from: join(unpackedNames.commands, name) })
      else leftOut.push(`command ${name}: is not UTF-8 of at most ${MAX_BYTES} bytes`)
    }
  }
  const { servers, leftOut: faults } = await serversOf(content, contributes.mcpServers, identity.id)
  return { skills: [...skills.values()], servers, leftOut: [...leftOut, ...faults] }
}

/** Returns the directories that a manifest names; without any, the usual ones that are there. */
async function directoriesOf(
  content: string,
  named: Contributions['skills'],
  usual: readonly string[],
  leftOut: string[],
): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of named ?? usual) {
    const clean = normalize(path).replace(/\/$/, '')
    if (await isDirectory(join(content, clean))) found.push(clean)
    else if (named !== undefined) leftOut.push(`directory ${path.slice(0, 100)}: is not in the archive`)
  }
  return found
}

/** A directory is a skill, or holds some. */
async function skillsIn(content: string, path: string): Promise<readonly string[]> {
  if (await isThere(join(content, path, SKILL_FILE))) return [path]
  const names = (await readdir(join(content, path))).toSorted()
  const held = await Promise.all(names.map(name => isThere(join(content, path, name, SKILL_FILE))))
  return names.filter((_, index) => held[index]).map(name => join(path, name))
}

async function commandsIn(content: string, path: string): Promise<readonly string[]> {
  const entries = await readdir(join(content, path), { withFileTypes: true })
  return entries
    .filter(entry => entry.isFile() && entry.name.endsWith('.md'))
    .map(({ name }) => name.slice(0, -'.md'.length))
    .toSorted()
}

const frontMatter = /^---\r?\n(?<head>[\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/**
 * Writes the skill of a command: the same text under a head with its name and its description.
 * @returns false if the command is too long or not UTF-8
 */
async function writeCommand(directory: string, commands: string, name: string): Promise<boolean> {
  const from = join(commands, `${name}.md`)
  if ((await stat(from)).size > MAX_BYTES) return false
  const bytes = await readFile(from)
  if (!isUtf8(bytes)) return false
  const text = bytes.toString().replace(/^\ufeff/, '')
  const found = frontMatter.exec(text)
  const body = text.slice(found?.[0].length ?? 0)
  const head = found?.groups?.['head'] ?? ''
  const declared = /^description:[ \t]*(\S.*)$/m.exec(head)?.[1]?.trim()
  const line = body.split('\n').find(each => each.trim() !== '')
  // A JSON string is a YAML scalar.
  const description =
    declared ??
    JSON.stringify(
      (line ?? `The command ${name}.`)
        .replace(/^#+\s*/, '')
        .trim()
        .slice(0, MAX_DESCRIPTION),
    )
  const target = join(directory, unpackedNames.commands, name)
  const file = join(target, SKILL_FILE)
  await mkdir(target, { recursive: true })
  await writeFile(file, `---\nname: ${name}\ndescription: ${description}\n---\n${body}`)
  await chmod(target, 0o755)
  await chmod(file, 0o444)
  return true
}

async function serversOf(content: string, named: Contributions['mcpServers'], id: string): Promise<ServerTemplates> {
  if (typeof named === 'object') return readServers(named, id, placesOf(id))
  for (const path of named === undefined ? ['mcp.json', '.mcp.json'] : [named]) {
    const file = join(content, normalize(path))
    if (!(await isThere(file))) continue
    try {
      if ((await stat(file)).size > MAX_BYTES) throw new Error('it is too long')
      return readServers(JSON.parse(await readFile(file, 'utf8')), id, placesOf(id))
    } catch {
      return { servers: [], leftOut: [`${path}: is not JSON of at most ${MAX_BYTES} bytes`] }
    }
  }
  return { servers: [], leftOut: named === undefined ? [] : [`${named}: is not in the archive`] }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
