import type { Session } from '@berth/client'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
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
    const keep = (written: string) => {
      const title = written.trim()
      if (title !== '' && title !== session.title) rename.mutate(title)
      onEdit(false)
    }
    return (
      <>
        <h1 className="sr-only">{printableLine(session.title)}</h1>
        <input
          // biome-ignore lint/a11y/noAutofocus: whoever pressed the title wants to write
          autoFocus
          aria-label="Title"
          dir="auto"
          maxLength={160}
          defaultValue={session.title}
          onFocus={event => event.target.select()}
          onBlur={event => keep(event.target.value)}
          onKeyDown={event => {
            if (event.nativeEvent.isComposing) return
            if (event.key === 'Enter') keep(event.currentTarget.value)
            if (event.key !== 'Escape') return
            // The field may still be left as it disappears.
            event.currentTarget.value = session.title
            onEdit(false)
          }}
          className="min-w-0 flex-1 rounded-md border border-line-strong bg-raised px-1.5 py-0.5 text-[0.9375rem] font-semibold sm:min-w-80"
        />
      </>
    )
  }
  const shown = printableLine(rename.isPending ? rename.variables : session.title)
  return (
    <>
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
      <InlineProblem error={rename.error} />
    </>
  )
}
