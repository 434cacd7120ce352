import type { Session } from '@berth/client'
import { useState } from 'react'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { titleEdit } from './title-edit.ts'
import { useRename } from './use-rename.ts'

/** The title; a press turns it into a field. Enter and leaving the field keep what is written, Escape does not. */
export function SessionTitle(props: {
  session: Session
  editable: boolean
  editing: boolean
  onEdit: (editing: boolean) => void
}) {
  const { session, editable, editing, onEdit } = props
  const rename = useRename(session)
  if (editing) {
    return (
      <>
        <h1 className="sr-only">{printableLine(session.title)}</h1>
        <TitleField
          began={session.title}
          refused={rename.isError ? rename.variables : undefined}
          onLeave={title => {
            onEdit(false)
            if (title === null) rename.reset()
            else rename.mutate(title, { onError: () => onEdit(true) })
          }}
        />
        <InlineProblem error={rename.error} />
      </>
    )
  }
  const shown = printableLine(rename.isPending ? rename.variables : session.title)
  return (
    <h1 dir="auto" className="-mx-1.5 min-w-0 text-[0.9375rem] font-semibold">
      {editable ? (
        <button
          type="button"
          title="Rename"
          onClick={() => onEdit(true)}
          className="block max-w-full truncate rounded-md px-1.5 py-0.5 hover:bg-hover"
        >
          {shown}
        </button>
      ) : (
        <span className="block truncate px-1.5">{shown}</span>
      )}
    </h1>
  )
}

/** @param props.refused a text that could not be kept; it is there again */
function TitleField(props: { began: string; refused: string | undefined; onLeave: (title: string | null) => void }) {
  const { began, refused, onLeave } = props
  // Holds the title of its first moment: a newer one may arrive while somebody writes.
  const [leave] = useState(() => titleEdit(began, onLeave))
  return (
    <input
      // biome-ignore lint/a11y/noAutofocus: whoever pressed the title wants to write; whose text is refused may write elsewhere
      autoFocus={refused === undefined}
      aria-label="Title"
      dir="auto"
      maxLength={160}
      defaultValue={refused ?? began}
      onFocus={event => event.target.select()}
      onBlur={event => leave(event.target.value)}
      onKeyDown={event => {
        if (event.nativeEvent.isComposing) return
        if (event.key === 'Enter') leave(event.currentTarget.value)
        else if (event.key === 'Escape') leave('')
      }}
      className="min-w-0 flex-1 rounded-md border border-line-strong bg-raised px-1.5 py-0.5 text-[0.9375rem] font-semibold sm:min-w-80"
    />
  )
}
