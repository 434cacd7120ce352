import type { Session } from '@berth/client'
import { hasCode } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ClipboardCheck, FilePlus } from 'lucide-react'
import { useState } from 'react'
import { queryClient } from '../api/queries.ts'
import { useEnvironmentCan } from '../environments/environment-can.ts'
import { environmentQuery } from '../environments/queries.ts'
import { takeChecks } from '../environments/take-checks.ts'
import { contentQuery, nodeQuery } from '../files/queries.ts'
import { to } from '../routing/to.ts'
import { CodeBlock } from '../transcript/code-block.tsx'
import { Button } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem, LoadingLines } from '../ui/states.tsx'
import { type CheckSources, proposedChecks } from './proposed-checks.ts'

/** More of a file is not read, and no more workflows. */
const mostBytes = 256 * 1024
const mostWorkflows = 8

/** Says how a repository without checks gets some, and proposes those that its own files name, as text to take along. */
export function ProposeChecks({ session }: { session: Session }) {
  const { environment } = session
  const known = useQuery({ ...environmentQuery(environment?.id ?? ''), enabled: environment !== null })
  const [open, setOpen] = useState(false)
  const hasChecks = (known.data?.document.checks ?? []).length > 0
  if (session.source === undefined || hasChecks || (environment !== null && known.data === undefined)) return null
  return (
    <section
      aria-label="How changes are checked"
      className="shrink-0 border-b border-line px-3 py-1.5 text-xs text-ink-2"
    >
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <ClipboardCheck className="size-3.5 shrink-0 text-ink-3" aria-hidden />
        <span className="min-w-0">
          {environment === null ? 'No environment says how a change is checked.' : 'The environment has no checks.'}
        </span>
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="h-7 rounded-md px-1.5 font-medium text-accent hover:bg-hover"
        >
          {open ? 'Hide' : 'Add some…'}
        </button>
      </div>
      {open && <Proposed session={session} />}
    </section>
  )
}

function Proposed({ session }: { session: Session }) {
  const { environment } = session
  const navigate = useNavigate()
  const known = useQuery({ ...environmentQuery(environment?.id ?? ''), enabled: environment !== null }).data ?? null
  const can = useEnvironmentCan(known)(environment === null ? 'create' : 'save')
  const sources = useQuery({
    queryKey: ['session', session.id, 'check-sources'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => readSources(session.id),
  })
  if (sources.data === undefined)
    return sources.isError ? <InlineProblem error={sources.error} /> : <LoadingLines label="the repository" lines={2} />
  const checks = proposedChecks(sources.data)
  const shown = checks.length === 0 ? [{ name: 'test', run: 'make test' }] : checks
  const take = () => {
    takeChecks(known, shown, session.source?.label ?? '')
    void navigate(environment === null ? to.newEnvironment() : to.environment(environment.id))
  }
  return (
    <div className="flex max-h-72 flex-col gap-2 overflow-y-auto pb-1.5">
      <p className="max-w-prose text-pretty">
        Checks are commands in the document of an environment. Sessions with that environment have their changes checked
        by them, each in a sandbox that no agent has touched.{' '}
        {checks.length === 0
          ? 'The repository has no scripts, Makefile targets or workflows that name some; this is one to begin with.'
          : 'The repository itself names these.'}
      </p>
      <div className="[&_pre]:overflow-x-auto [&_pre]:p-2.5 [&_pre]:font-mono">
        <CodeBlock language="json" text={documentOf(shown)} />
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button verdict={can} onClick={take}>
          <FilePlus className="size-4" aria-hidden />
          {environment === null
            ? 'Put them into a new environment'
            : `Put them into ${printableLine(environment.name)}`}
        </Button>
        <span className="text-ink-3">
          {environment === null
            ? 'You read and change them before you save, and then begin Sessions with it.'
            : 'You read and change them before you save.'}
        </span>
      </div>
    </div>
  )
}

const documentOf = (checks: readonly { readonly name: string; readonly run: string }[]): string =>
  `"checks": [\n${checks.map(check => `  ${JSON.stringify(check)}`).join(',\n')}\n]`

/** Reads the files from the commit at which the Session began, never from its workspace. */
async function readSources(sessionId: string): Promise<CheckSources> {
  const top = await namesOf(sessionId, 'project')
  const text = async (path: string) => {
    const bytes = await queryClient.fetchQuery(contentQuery(sessionId, path, '', 'base', mostBytes))
    return new TextDecoder().decode(bytes)
  }
  const packageJson = top.includes('package.json') ? await text('project/package.json') : undefined
  const makefile = top.find(name => /^(?:GNUm|M|m)akefile$/.test(name))
  const folder = 'project/.github/workflows'
  const names = top.includes('.github') ? await namesOf(sessionId, folder) : []
  const workflows = names.filter(name => /\.ya?ml$/.test(name)).slice(0, mostWorkflows)
  return {
    names: top,
    ...(packageJson !== undefined && { packageJson }),
    ...(makefile !== undefined && { makefile: await text(`project/${makefile}`) }),
    workflows: await Promise.all(workflows.map(name => text(`${folder}/${name}`))),
  }
}

/** Returns the names of the files and folders in a folder; none if it is not there. */
async function namesOf(sessionId: string, folder: string): Promise<readonly string[]> {
  try {
    const { entries = [] } = await queryClient.fetchQuery(nodeQuery(sessionId, folder, '', 'base'))
    return entries.filter(({ readable, kind }) => readable && kind !== 'link').map(({ name }) => name)
  } catch (error) {
    if (hasCode(error, 'workspace_file_not_found')) return []
    throw error
  }
}
