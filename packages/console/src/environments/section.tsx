import { Plus, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button, IconButton } from '../ui/button.tsx'

/** A part of the form, with its purpose. */
export function Section(props: {
  id: string
  title: string
  hint: ReactNode
  fault?: string | undefined
  children: ReactNode
}) {
  const { id, title, hint, fault, children } = props
  return (
    <section aria-labelledby={id} className="flex flex-col gap-3 border-t border-line pt-6 first:border-0 first:pt-0">
      <div className="flex flex-col gap-1">
        <h2 id={id} className="text-sm font-semibold">
          {title}
        </h2>
        <p className="max-w-prose text-xs text-ink-3">{hint}</p>
        {fault !== undefined && <Fault>{fault}</Fault>}
      </div>
      {children}
    </section>
  )
}

/** The fault of a row or a part, as text. */
export function Fault({ id, children }: { id?: string; children: string }) {
  return (
    <p id={id} className="text-xs text-bad">
      {children.charAt(0).toUpperCase() + children.slice(1)}
    </p>
  )
}

/** Adds a row to a list, up to the most that a document may hold. */
export function AddRow(props: { label: string; count: number; most: number; readOnly: boolean; onAdd: () => void }) {
  const { label, count, most, readOnly, onAdd } = props
  if (readOnly) return null
  return (
    <div>
      <Button
        onClick={onAdd}
        verdict={count < most ? undefined : { allowed: false, reason: `At most ${most} are possible.` }}
      >
        <Plus className="size-4" aria-hidden /> {label}
      </Button>
    </div>
  )
}

/** Removes a row. */
export function RemoveRow({ label, readOnly, onRemove }: { label: string; readOnly: boolean; onRemove: () => void }) {
  if (readOnly) return null
  return (
    <IconButton label={label} onClick={onRemove}>
      <X className="size-4" aria-hidden />
    </IconButton>
  )
}
