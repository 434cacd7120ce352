import type { Environment } from '@berth/client'
import { formatBytes } from '@berth/client/transcript'
import { environmentLimits } from '@berth/contract/limits'
import { useMutation, useQuery } from '@tanstack/react-query'
import { ArrowDown, ArrowUp, Upload } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { useFieldArray } from 'react-hook-form'
import { berth } from '../api/client.ts'
import type { Verdict } from '../session/session-can.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { Select } from '../ui/field.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { placeOf } from './form-values.ts'
import { faultAt } from './issues.ts'
import { catalogQuery } from './queries.ts'
import type { PartProps } from './row-fields.tsx'
import { Fault, RemoveRow, Section } from './section.tsx'

type Archive = Environment['archives'][number]

interface Props extends PartProps {
  readonly environmentId: string
  readonly archives: readonly Archive[]
  readonly mayUpload: Verdict
}

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')

/** Extensions in the order in which they are installed, from the catalog or uploaded here. */
export function ExtensionRows({ form, issues, readOnly, environmentId, archives, mayUpload }: Props) {
  const { fields, append, remove, move } = useFieldArray({ control: form.control, name: 'extensions' })
  const id = useId()
  const file = useRef<HTMLInputElement>(null)
  const values = form.watch()
  const { extensions: catalog, missing = [] } = useQuery(catalogQuery).data ?? { extensions: [] }
  const [uploaded, setUploaded] = useState<readonly Archive[]>([])
  const upload = useMutation({
    mutationFn: async (chosen: File) => {
      const content = new Uint8Array(await chosen.arrayBuffer())
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', content))
      return (await berth.call('uploadEnvironmentArchive', { environmentId, sha256: hexOf(digest), body: content }))
        .archive
    },
    onSuccess: archive => {
      setUploaded([...uploaded, archive])
      const isListed = form.getValues('extensions').some(({ reference }) => reference === archive.archive)
      if (!isListed) append({ kind: 'archive', reference: archive.archive })
    },
  })
  const nameOf = (reference: string): string => {
    const known = [...archives, ...uploaded].find(({ archive }) => archive === reference)
    if (known === undefined) return `${reference.slice(0, 20)}…`
    return `${known.extension.name} ${known.extension.version} (${formatBytes(known.sizeBytes)})`
  }
  const listed = new Set(values.extensions.map(({ reference }) => reference))
  const offered = catalog.filter(({ slug }) => !listed.has(slug))
  const full = fields.length >= environmentLimits.extensions
  return (
    <Section
      id={`${id}-title`}
      title="Extensions"
      hint={
        <>
          Skills, commands and MCP servers for the agents, installed in this order after the setup script. Pack one with{' '}
          <code>berth extension pack</code>.
        </>
      }
      fault={issues.find(({ path }) => path.length === 1 && path[0] === 'extensions')?.message}
    >
      {fields.length > 0 && (
        <ol className="flex flex-col divide-y divide-line rounded-md border border-line">
          {fields.map((field, at) => {
            const entry = values.extensions[at] ?? field
            const release = catalog.find(({ slug }) => slug === entry.reference)
            const label = entry.kind === 'archive' ? nameOf(entry.reference) : (release?.name ?? entry.reference)
            const fault = faultAt(issues, 'extensions', placeOf('extensions', values, at))
            return (
              <li key={field.id} className="flex flex-col gap-1 px-3 py-2">
                <div className="flex items-center gap-2">
                  <span className="min-w-0 flex-1">
                    <span className="block truncate text-sm">{label}</span>
                    <span className="block truncate text-xs text-ink-3">
                      {entry.kind === 'archive' ? 'Uploaded here' : `Catalog${release ? `, ${release.version}` : ''}`}
                    </span>
                  </span>
                  {!readOnly && (
                    <>
                      <IconButton
                        label={`Install ${label} earlier`}
                        disabled={at === 0}
                        onClick={() => move(at, at - 1)}
                      >
                        <ArrowUp className="size-4" aria-hidden />
                      </IconButton>
                      <IconButton
                        label={`Install ${label} later`}
                        disabled={at === fields.length - 1}
                        onClick={() => move(at, at + 1)}
                      >
                        <ArrowDown className="size-4" aria-hidden />
                      </IconButton>
                    </>
                  )}
                  <RemoveRow label={`Remove ${label}`} readOnly={readOnly} onRemove={() => remove(at)} />
                </div>
                {fault !== undefined && <Fault>{fault}</Fault>}
              </li>
            )
          })}
        </ol>
      )}
      {!readOnly && (
        <div className="flex flex-wrap items-center gap-2">
          <label className="sr-only" htmlFor={`${id}-catalog`}>
            Add an extension of the catalog
          </label>
          {catalog.length > 0 && (
            <Select
              id={`${id}-catalog`}
              className="max-w-56"
              value=""
              disabled={full || offered.length === 0}
              onChange={event => append({ kind: 'catalog', reference: event.target.value })}
            >
              <option value="">Add from the catalog…</option>
              {offered.map(({ slug, name }) => (
                <option key={slug} value={slug}>
                  {name}
                </option>
              ))}
            </Select>
          )}
          <Button
            busy={upload.isPending}
            verdict={
              full ? { allowed: false, reason: `At most ${environmentLimits.extensions} are possible.` } : mayUpload
            }
            onClick={() => file.current?.click()}
          >
            <Upload className="size-4" aria-hidden /> Upload a packed extension
          </Button>
          <input
            ref={file}
            type="file"
            accept=".zip,application/zip"
            className="hidden"
            aria-label="Packed extension"
            onChange={event => {
              const [chosen] = event.target.files ?? []
              if (chosen !== undefined) upload.mutate(chosen)
              event.target.value = ''
            }}
          />
        </div>
      )}
      {missing.length > 0 && (
        <p className="text-xs text-warning">
          Extensions of the catalog are missing: {missing.map(({ slug, reason }) => `${slug} (${reason})`).join(', ')}.
        </p>
      )}
      <InlineProblem error={upload.error} />
    </Section>
  )
}
