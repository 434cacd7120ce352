import { posix } from 'node:path'
import { Readable } from 'node:stream'
import type { WorkspaceEntry, WorkspaceNode } from '@berth/contract'
import { inOrder, MAX_BYTES, type Seen } from '@berth/core/checkpoints/inspect-tree.ts'
import { platformNames } from '@berth/core/checkpoints/platform-names.ts'
import type { Context } from '@berth/core/context.ts'
import type { HandlerRequest, Handlers } from '@berth/core/http/routing/handler.ts'
import { attachment } from '@berth/core/sessions/artifacts/artifact.ts'
import { readPath } from '@berth/core/sessions/reviews/changes.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { InspectedEntry } from '@berth/supervisor/tree'
import { workspacePath } from './file-path.ts'
import { inspectFiles, type View } from './inspect-files.ts'

type Operations = 'getWorkspaceNode' | 'getWorkspaceContent'

/** Serves the files of workspaces. */
export function fileHandlers(context: Context): Pick<Handlers, Operations> {
  const inspect = async (
    { principal, params, query, signal }: HandlerRequest<'getWorkspaceNode'> | HandlerRequest<'getWorkspaceContent'>,
    range: { readonly offset: number; readonly bytes: number },
  ) => {
    const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
    const path = workspacePath(query.path ?? '')
    const bytes = Buffer.from(path ?? '').toString('latin1')
    const wanted = { at: query.at, range: { path: bytes, ...range } }
    const { view, seen } = await inspectFiles(context, principal, key, wanted, signal)
    // Only now, so that a Session that the caller does not see is told as that, whatever the path.
    if (path === null || seen.found === 'nothing') throw refusal('workspace_file_not_found')
    return { path, view, seen: readableOf(seen) }
  }
  return {
    getWorkspaceNode: async request => {
      const { path, view, seen } = await inspect(request, { offset: 0, bytes: 0 })
      const node: WorkspaceNode = {
        path,
        kind: seen.found,
        view: viewOf(view),
        ...(seen.found === 'directory'
          ? { entries: entriesOf(path, seen.entries), more: seen.more }
          : { sizeBytes: seen.sizeBytes }),
      }
      return { status: 200, body: { node }, headers: { 'cache-control': 'no-store' } }
    },

    getWorkspaceContent: async request => {
      const { path, seen } = await inspect(request, { offset: request.query.offset, bytes: MAX_BYTES })
      if (seen.found !== 'file') throw refusal('workspace_file_unreadable')
      return {
        status: 200,
        bytes: Readable.from([seen.content], { objectMode: false }),
        headers: {
          'cache-control': 'no-store',
          'content-type': 'application/octet-stream',
          'content-length': String(seen.content.length),
          'content-disposition': attachment(posix.basename(path)),
          'x-svc-file-bytes': String(seen.sizeBytes),
        },
      }
    },
  }
}

function readableOf(seen: Seen): Extract<Seen, { found: 'directory' | 'file' }> {
  if (seen.found === 'directory' || seen.found === 'file') return seen
  throw refusal(seen.found === 'nothing' ? 'workspace_file_not_found' : 'workspace_file_unreadable')
}

const viewOf = (view: View): WorkspaceNode['view'] =>
  view.at === 'sealed' ? { ...view, sealedAt: view.sealedAt.toISOString() } : view

/** Berth's own files at the top of a workspace are left out, as in checkpoints. */
function entriesOf(path: string, entries: readonly InspectedEntry[]): WorkspaceEntry[] {
  const own = (name: string) => path === '' && platformNames.some(known => known === name)
  return entries
    .filter(({ name }) => !own(name))
    .toSorted(inOrder)
    .map(entryOf)
}

function entryOf(entry: InspectedEntry): WorkspaceEntry {
  const bytes = Buffer.from(entry.name, 'latin1')
  const name = readPath(bytes)
  const readable = bytes.equals(Buffer.from(name)) && entry.kind !== 'special'
  const kind = entry.kind === 'special' ? 'other' : entry.kind
  return {
    name,
    kind,
    readable,
    ...(entry.kind === 'file' && { sizeBytes: entry.sizeBytes }),
    ...(entry.kind === 'link' && { target: readPath(Buffer.from(entry.target, 'latin1')) }),
  }
}
