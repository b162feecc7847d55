// Confirm asks before something that is hard to undo. Focus begins on Cancel. What
// goes wrong is told in the dialog, which stays.
import { Dialog } from './dialog.jsx';
import { Actions, Form } from './forms.jsx';

export function Confirm({ title, verb, submission, onConfirm, onClose, returnTo, children }) {
  return (
    <Dialog title={title} onClose={onClose} returnTo={returnTo}>
      <Form onSubmit={onConfirm} submission={submission} actions={<Actions submission={submission} verb={verb} danger />}>
        {children}
      </Form>
    </Dialog>
  );
}
