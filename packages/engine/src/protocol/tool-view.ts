import { resolve } from 'node:path'
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import { asObject, isObject } from '../json.ts'
import { touchedPaths } from '../tools/files/touched-paths.ts'
import type { PatchDiff } from '../tools/patch/apply-patch.ts'

const MAX_TITLE = 120

const kinds: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  edit: 'edit',
  write: 'edit',
  apply_patch: 'edit',
  bash: 'execute',
  search: 'search',
  list: 'search',
  exit_plan_mode: 'switch_mode',
  delegate: 'think',
  todo: 'think',
  background: 'execute',
  fetch: 'fetch',
  web_search: 'search',
}

/** How people see a tool call. */
export interface ToolView {
  readonly title: string
  readonly kind: ToolKind
  readonly locations: ToolCallLocation[]
}

/**
 * Returns how people see a tool call.
 * @param foreign the server's own title and kind, if the tool is a server's
 */
export function viewOf(name: string, args: unknown, cwd: string, foreign?: Pick<ToolView, 'title' | 'kind'>): ToolView {
  const given = textsOf(args)
  const paths = touchedPaths(name, args)
  return {
    title: firstLine(foreign?.title ?? titleOf(name, given, paths)),
    kind: foreign?.kind ?? kinds[name] ?? 'other',
    locations: paths.map(path => ({ path: resolve(cwd, path) })),
  }
}

function titleOf(name: string, given: (key: string) => string, paths: readonly string[]): string {
  switch (name) {
    case 'bash':
      return given('command')
    case 'read':
    case 'edit':
    case 'write':
      return `${name} ${given('path')}`
    case 'apply_patch':
      return `edit ${paths.join(', ')}`
    case 'list':
      return `list ${given('path') || '.'} ${given('glob')}`
    case 'search':
      return `search ${given('pattern')} ${given('path')}`
    case 'fetch':
      return `fetch ${given('url')}`
    case 'web_search':
      return `search the web: ${given('query')}`
    case 'present_file':
      return `present ${given('path')}`
    case 'ask_user':
      return 'ask the user'
    case 'background':
      return `${given('action')} the background command ${given('id')}`
    case 'todo':
      return 'update the to-do list'
    case 'exit_plan_mode':
      return 'Carry out this plan?'
    case 'delegate':
      return `delegate: ${given('task')}`
    default:
      return name
  }
}

/** Returns a call's result: its text, and the change that it made to a file. */
export function contentOf(
  name: string,
  args: unknown,
  result: { readonly content: readonly { type: string; text?: string }[]; readonly details?: unknown },
  isError: boolean,
  cwd: string,
): ToolCallContent[] {
  const text = result.content.flatMap(part => (part.type === 'text' && part.text ? [part.text] : [])).join('\n')
  const texts: ToolCallContent[] = text === '' ? [] : [{ type: 'content', content: { type: 'text', text } }]
  return isError ? texts : [...texts, ...diffsOf(name, args, result.details, cwd)]
}

function diffsOf(name: string, args: unknown, details: unknown, cwd: string): ToolCallContent[] {
  const given = textsOf(args)
  const path = resolve(cwd, given('path'))
  if (name === 'write') {
    const old = asObject(details)['oldText']
    if (old === undefined) return []
    return [{ type: 'diff', path, oldText: typeof old === 'string' ? old : null, newText: given('content') }]
  }
  if (name === 'apply_patch') {
    const { diffs } = asObject(details)
    return Array.isArray(diffs)
      ? diffs.map((diff: PatchDiff) => ({ ...diff, type: 'diff', path: resolve(cwd, diff.path) }))
      : []
  }
  if (name !== 'edit' || !isObject(args) || !Array.isArray(args['edits'])) return []
  return args['edits'].map(edit => ({
    type: 'diff',
    path,
    oldText: textsOf(edit)('oldText'),
    newText: textsOf(edit)('newText'),
  }))
}

const textsOf = (args: unknown) => (key: string) => {
  const value = asObject(args)[key]
  return typeof value === 'string' ? value : ''
}

function firstLine(text: string): string {
  const line = text.split('\n').find(candidate => candidate.trim() !== '') ?? ''
  return Array.from(line.trim()).slice(0, MAX_TITLE).join('')
}
