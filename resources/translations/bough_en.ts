<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>BackupsWindow</name>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n conversation</numerusform>
            <numerusform>%n conversations</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>CompareWindow</name>
    <message numerus="yes">
        <source>{count} differences</source>
        <translation>
            <numerusform>{count} difference</numerusform>
            <numerusform>{count} differences</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DialogCommands</name>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n message</numerusform>
            <numerusform>%n messages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) in “{folder}”</source>
        <translation>
            <numerusform>%n conversation in “{folder}”</numerusform>
            <numerusform>%n conversations in “{folder}”</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s), with all branches</source>
        <translation>
            <numerusform>%n conversation, with all branches</numerusform>
            <numerusform>%n conversations, with all branches</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n conversation</numerusform>
            <numerusform>%n conversations</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) updated from the file.</source>
        <translation>
            <numerusform>%n conversation gained what is new in the file.</numerusform>
            <numerusform>%n conversations gained what is new in the file.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n could not be imported.</source>
        <translation>
            <numerusform>%n could not be imported.</numerusform>
            <numerusform>%n could not be imported.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DropPage</name>
    <message numerus="yes">
        <source>Drop to open %n model(s)</source>
        <translation>
            <numerusform>Drop to open %n model</numerusform>
            <numerusform>Drop to open %n models</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Drop to import %n file(s)</source>
        <translation>
            <numerusform>Drop to import %n file</numerusform>
            <numerusform>Drop to import %n files</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Drop to attach %n file(s)</source>
        <translation>
            <numerusform>Drop to attach %n file</numerusform>
            <numerusform>Drop to attach %n files</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message numerus="yes">
        <source>%n on other branches</source>
        <translation>
            <numerusform>%n on other branches</numerusform>
            <numerusform>%n on other branches</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Folded</name>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… and %n more</numerusform>
            <numerusform>… and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ImportWindow</name>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n conversation</numerusform>
            <numerusform>%n conversations</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n message</numerusform>
            <numerusform>%n messages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n branch(es)</source>
        <translation>
            <numerusform>%n branch</numerusform>
            <numerusform>%n branches</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s) for conversations in Bough</source>
        <translation>
            <numerusform>%n message for a conversation in Bough</numerusform>
            <numerusform>%n messages for conversations in Bough</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n can&apos;t be imported</source>
        <translation>
            <numerusform>%n can&apos;t be imported</numerusform>
            <numerusform>%n can&apos;t be imported</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) in Bough will be updated from the file</source>
        <translation>
            <numerusform>%n conversation in Bough gains what is new in the file</numerusform>
            <numerusform>%n conversations in Bough gain what is new in the file</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) already in Bough, left out</source>
        <translation>
            <numerusform>%n conversation already in Bough, left out</numerusform>
            <numerusform>%n conversations already in Bough, left out</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>MessageCommands</name>
    <message numerus="yes">
        <source>Prune (%n message(s))</source>
        <translation>
            <numerusform>Prune (%n message)</numerusform>
            <numerusform>Prune (%n messages)</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Keep only this version (prune %n message(s))</source>
        <translation>
            <numerusform>Keep only this version (prune %n message)</numerusform>
            <numerusform>Keep only this version (prune %n messages)</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ModelSettingsForm</name>
    <message numerus="yes">
        <source>%n stop string(s)</source>
        <translation>
            <numerusform>%n stop string</numerusform>
            <numerusform>%n stop strings</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message numerus="yes">
        <source>After %n minute(s) without an answer</source>
        <translation>
            <numerusform>After %n minute without an answer</numerusform>
            <numerusform>After %n minutes without an answer</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>RegenerateMenu</name>
    <message numerus="yes">
        <source>%n answer(s)</source>
        <translation>
            <numerusform>%n answer</numerusform>
            <numerusform>%n answers</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>SearchPanel</name>
    <message numerus="yes">
        <source>First %n message(s). Add words to narrow the search.</source>
        <translation>
            <numerusform>First %n message. Add words to narrow the search.</numerusform>
            <numerusform>First %n messages. Add words to narrow the search.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s). Press Enter to go there.</source>
        <translation>
            <numerusform>%n message. Press Enter to go there.</numerusform>
            <numerusform>%n messages. Press Enter to go there.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>SideBySide</name>
    <message numerus="yes">
        <source>Prunes %n message(s); Undo restores them</source>
        <translation>
            <numerusform>Prunes %n message; Undo restores them</numerusform>
            <numerusform>Prunes %n messages; Undo restores them</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>TrashWindow</name>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n message</numerusform>
            <numerusform>%n messages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Permanently delete these %n items?</source>
        <translation>
            <numerusform>Permanently delete %n item?</numerusform>
            <numerusform>Permanently delete %n item?</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>TreeDock</name>
    <message numerus="yes">
        <source>{count} branches</source>
        <translation>
            <numerusform>{count} branch</numerusform>
            <numerusform>{count} branches</numerusform>
        </translation>
    </message>
</context>
</TS>
